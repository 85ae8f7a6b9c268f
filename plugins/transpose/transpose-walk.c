/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a strided copy tile by tile; compiled once per instruction set. */
#include "transpose-vectors.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Every row may need two lines more than its contents. */
#define STAGE_BYTES (TRANSPOSE_TILE_BYTES + (TRANSPOSE_MAX_A + 1) * 2 * LINE)

/* Rows of the stage that are contiguous in the output. */
typedef struct {
    uint16_t first;
    uint32_t bytes;
} Run;

/* The offsets of the elements of a tile: (a, b) moves from in_a[a] + in_b[b] to out_a[a] +
 * out_b[b]. */
typedef struct {
    ptrdiff_t in_a[TRANSPOSE_MAX_A], in_b[TRANSPOSE_MAX_B];
    ptrdiff_t out_a[TRANSPOSE_MAX_A], out_b[TRANSPOSE_MAX_B];
    ptrdiff_t stage_a[TRANSPOSE_MAX_A], stage_b[TRANSPOSE_MAX_B];
    uint16_t flush[TRANSPOSE_MAX_A]; /* side A in the order of the output */
    size_t n_a, n_b;                 /* elements of a tile */
    bool in_order;                   /* whether the order of side A is that of the output */
    size_t adjoin;  /* rows, from each multiple of it, that are contiguous in output and stage */
    bool adjoin_in; /* the segments of rows that fill 16 bytes are contiguous in the input */
    Run runs[TRANSPOSE_MAX_A];
    size_t n_runs;
} Offsets;

typedef struct {
    _Alignas(LINE) uint8_t stage[STAGE_BYTES];
    Offsets offsets;
} Scratch;
_Static_assert(2 * PACK_BYTES + PACK_STAGE_BYTES <= STAGE_BYTES, "packs fit in the stage");
_Static_assert(sizeof(Scratch) <= TRANSPOSE_SCRATCH_BYTES, "the scratch holds stage and offsets");

/* Orders streaming stores before later ones. */
static void
finish_stream(bool stream)
{
#ifdef __SSE2__
    if (stream)
        _mm_sfence();
#else
    (void)stream;
#endif
}

/* Fills in the offsets of all elements of one side of a tile; returns their number. */
static size_t
fill_offsets(const TransposePlan *plan, const unsigned *axes, unsigned n, ptrdiff_t *in,
             ptrdiff_t *out)
{
    size_t count = 1;
    in[0] = out[0] = 0;
    for (unsigned j = 0; j < n; j++) {
        const TransposeAxis *axis = &plan->axis[axes[j]];
        const size_t tile = plan->tile[axes[j]];
        for (size_t i = 1; i < tile; i++)
            for (size_t c = 0; c < count; c++) {
                in[i * count + c] = in[c] + (ptrdiff_t)i * axis->in;
                out[i * count + c] = out[c] + (ptrdiff_t)i * axis->out;
            }
        count *= tile;
    }
    return count;
}

static size_t
greatest_divisor(size_t x, size_t y)
{
    while (y) {
        const size_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* Sets the offsets in the stage: rows in the order of the output, contiguous where they are so
 * there. Others are an odd number of lines apart, so that a column is spread over many sets of the
 * cache. */
static void
lay_out_stage(const TransposePlan *plan, Offsets *offsets, size_t n_a, size_t n_b)
{
    unsigned axes[TRANSPOSE_MAX_AXES];
    size_t weight[TRANSPOSE_MAX_AXES], product = 1;
    for (unsigned j = 0; j < plan->n_a; j++) {
        unsigned i = j;
        for (; i > 0 && axes[i - 1] < plan->a[j]; i--) {
            axes[i] = axes[i - 1];
            weight[i] = weight[i - 1];
        }
        axes[i] = plan->a[j];
        weight[i] = product;
        product *= plan->tile[plan->a[j]];
    }
    offsets->flush[0] = 0;
    size_t count = 1;
    for (unsigned j = 0; j < plan->n_a; j++) {
        const size_t tile = plan->tile[axes[j]];
        for (size_t i = 1; i < tile; i++)
            for (size_t c = 0; c < count; c++)
                offsets->flush[i * count + c] = (uint16_t)(offsets->flush[c] + i * weight[j]);
        count *= tile;
    }

    const ptrdiff_t run = (ptrdiff_t)(n_b * plan->element);
    const unsigned cut = plan->b[plan->n_b - 1];
    const bool whole = plan->tile[cut] == plan->axis[cut].length;
    ptrdiff_t position = 0, start = 0;
    offsets->stage_a[0] = 0;
    offsets->in_order = true;
    offsets->adjoin = whole ? plan->segment : 0;
    for (size_t f = 1; f < n_a; f++) {
        const size_t a = offsets->flush[f], before = offsets->flush[f - 1];
        const bool adjoins = whole && offsets->out_a[a] - offsets->out_a[before] == run;
        position += run;
        if (!adjoins)
            start = position = start + (((position - start + LINE - 1) / LINE) | 1) * LINE;
        offsets->stage_a[a] = position;
        offsets->in_order &= a == f;
        if (!(adjoins && a == before + 1))
            offsets->adjoin = greatest_divisor(offsets->adjoin, a);
    }
    for (size_t b = 0; b < n_b; b++)
        offsets->stage_b[b] = (ptrdiff_t)(b * plan->element);
}

/* Finds the runs of contiguous rows, of `row` bytes each. */
static void
find_runs(Offsets *offsets, size_t row)
{
    offsets->n_runs = 0;
    for (size_t f = 0; f < offsets->n_a;) {
        const size_t first = offsets->flush[f++];
        size_t last = first;
        for (; f < offsets->n_a; f++) {
            const size_t a = offsets->flush[f];
            if (offsets->out_a[a] - offsets->out_a[last] != (ptrdiff_t)row ||
                offsets->stage_a[a] - offsets->stage_a[last] != (ptrdiff_t)row)
                break;
            last = a;
        }
        const size_t bytes = (size_t)(offsets->out_a[last] - offsets->out_a[first]) + row;
        offsets->runs[offsets->n_runs++] = (Run){(uint16_t)first, (uint32_t)bytes};
    }
}

static void
flush_stage(const Offsets *offsets, const uint8_t *stage, uint8_t *out, bool stream)
{
    for (size_t i = 0; i < offsets->n_runs; i++) {
        const Run run = offsets->runs[i];
        const size_t bytes = run.bytes;
        uint8_t *to = out + offsets->out_a[run.first];
        const uint8_t *from = stage + offsets->stage_a[run.first];
        if (bytes < LINE)
            copy_run(to, from, bytes);
        else if (stream)
            stream_run(to, from, bytes);
        else
            memcpy(to, from, bytes);
    }
}

/* Copies runs of many lines each directly. */
static void
copy_long_runs(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element, bool stream)
{
    for (size_t a = 0; a < tile->n_a; a++)
        for (size_t b = 0; b < tile->n_b; b++) {
            uint8_t *to = out + tile->out_a[a] + tile->out_b[b];
            const uint8_t *from = in + tile->in_a[a] + tile->in_b[b];
            if (stream)
                stream_run(to, from, element);
            else
                memcpy(to, from, element);
        }
}

/* The first byte after all those that the copy reads; strides are known to be positive. */
static const uint8_t *
input_end(const TransposePlan *plan, const uint8_t *in)
{
    for (unsigned i = 0; i < plan->n_axes; i++)
        in += (ptrdiff_t)(plan->axis[i].length - 1) * plan->axis[i].in;
    return in + plan->element;
}

/* Moves one tile, through the stage if the output is to be streamed or must not be written past its
 * end. */
static void
move_tile(const TransposePlan *plan, const Offsets *offsets, Tile *tile, const uint8_t *in,
          uint8_t *out, const uint8_t *in_end, uint8_t *stage)
{
    const size_t element = plan->element;
    tile->out_a = offsets->out_a;
    tile->out_b = offsets->out_b;
    if (element >= TRANSPOSE_LONG_RUN) {
        copy_long_runs(tile, in, out, element, plan->stream);
        return;
    }
    const size_t k = element <= 16 ? 16 / element : 1;
    const bool staged = plan->packed && (plan->stream || tile->n_b < k);
    if (staged) {
        tile->out_a = offsets->stage_a;
        tile->out_b = offsets->stage_b;
    }
    uint8_t *to = staged ? stage : out;
    if (staged && plan->stream)
        for (size_t i = 0; i < offsets->n_runs; i++)
            fetch_edges(out + offsets->out_a[offsets->runs[i].first], offsets->runs[i].bytes);
    const size_t columns = tile->n_a < tile->segment ? tile->n_a : tile->segment;
    const uint8_t *last = in + offsets->in_a[tile->n_a - 1] + offsets->in_b[tile->n_b - 1];
    Tile adjoining = *tile;
    adjoining.segment = offsets->adjoin;
    if (!columns)
        CT_ISA(transpose_copy)(tile, in, to, element);
    else if (!(offsets->adjoin_in && CT_ISA(transpose_unzip)(tile, in, to, element)) &&
             !(offsets->adjoin && CT_ISA(transpose_zip)(&adjoining, in, to, element))) {
        if ((columns >= k || last + 16 <= in_end) && (tile->n_b >= k || offsets->in_order))
            CT_ISA(transpose_turn)(tile, in, to, element);
        else
            CT_ISA(transpose_copy)(tile, in, to, element);
    }
    if (staged)
        flush_stage(offsets, stage, out, plan->stream);
}

static void
fill_all_offsets(const TransposePlan *plan, Offsets *offsets)
{
    offsets->n_a = fill_offsets(plan, plan->a, plan->n_a, offsets->in_a, offsets->out_a);
    offsets->n_b = fill_offsets(plan, plan->b, plan->n_b, offsets->in_b, offsets->out_b);
    lay_out_stage(plan, offsets, offsets->n_a, offsets->n_b);
    find_runs(offsets, offsets->n_b * plan->element);
    const unsigned first = plan->b[0];
    const size_t segment = plan->segment * plan->element;
    offsets->adjoin_in =
        segment && segment <= 16 && plan->axis[first].in == (ptrdiff_t)segment &&
        (plan->n_b == 1 || plan->tile[first] * plan->element % CT_VECTOR_BYTES == 0);
}

/* The place of a tile: indices of its first element, and its bytes. */
typedef struct {
    size_t at[TRANSPOSE_MAX_AXES];
    const uint8_t *in;
    uint8_t *out;
} Place;

/* Goes to the next tile, behind the last one to the first: FALSE. Where the length of an axis is no
 * multiple of the tile, the last tile overlaps the one before. */
static bool
go_on(const TransposePlan *plan, Place *place)
{
    bool more = false;
    for (unsigned j = plan->n_axes; j-- > 0 && !more;) {
        const unsigned i = plan->order[j];
        const TransposeAxis *axis = &plan->axis[i];
        const size_t left = axis->length - plan->tile[i] - place->at[i];
        more = left > 0;
        const ptrdiff_t steps = !more                  ? -(ptrdiff_t)place->at[i]
                                : left < plan->tile[i] ? (ptrdiff_t)left
                                                       : (ptrdiff_t)plan->tile[i];
        place->at[i] += (size_t)steps;
        place->in += steps * axis->in;
        place->out += steps * axis->out;
    }
    return more;
}

/* Whether a vector is a line, and all rows of all tiles begin and end at lines of the output. */
static bool
writes_lines(const TransposePlan *plan, const Tile *tile, const uint8_t *out)
{
    uintptr_t places = (uintptr_t)out | tile->n_b * plan->element;
    for (unsigned i = 0; i < plan->n_axes; i++) {
        const TransposeAxis *axis = &plan->axis[i];
        if (!transpose_holds(plan->b, plan->n_b, i)) /* rows, or tiles of them */
            places |= axis->length > 1 ? (uintptr_t)axis->out : 0;
        else if (plan->tile[i] < axis->length) /* the last tile may overlap the one before */
            places |= (plan->tile[i] | (axis->length - plan->tile[i])) * (uintptr_t)axis->out;
    }
    return CT_VECTOR_BYTES == LINE && places % LINE == 0;
}

/* Whether more rows of a vector begin in one set of the first cache than it has ways, as a rule. If
 * not, packs are of no use for input that is in the second cache. */
static bool
collides(const Tile *tile, size_t element)
{
    size_t n = 0;
    for (size_t b = 0; b < tile->n_b && b < CT_VECTOR_BYTES / element; b++)
        n += (size_t)(tile->in_b[b] - tile->in_b[0]) % (64 * LINE) < LINE;
    return n > 8;
}

/* Moves all tiles by way of packs. */
static void
walk_packs(const TransposePlan *plan, const Tile *tile, Place here, uint8_t *scratch)
{
    Place then = here;
    Packing packing = {
        .in = here.in,
        .pack = scratch,
        .next = scratch + PACK_BYTES,
        .stage = scratch + 2 * PACK_BYTES,
        .way = !plan->stream                        ? PACK_TO_OUTPUT
               : writes_lines(plan, tile, here.out) ? PACK_TO_LINES
                                                    : PACK_TO_STAGE,
    };
    packing.then = go_on(plan, &then) ? then.in : NULL;
    CT_ISA(transpose_pack)(tile, &packing, packing.pack, plan->element);
    do {
        packing.in = packing.then;
        packing.then = packing.in && go_on(plan, &then) ? then.in : NULL;
        CT_ISA(transpose_turn_pack)(tile, &packing, here.out, plan->element);
        uint8_t *const turned = packing.pack;
        packing.pack = packing.next;
        packing.next = turned;
    } while (go_on(plan, &here));
}

static void
walk_tiles(const TransposePlan *plan, const Offsets *offsets, Tile *tile, Place here,
           uint8_t *stage)
{
    const uint8_t *in_end = input_end(plan, here.in);
    for (bool more = true; more;) {
        const Place place = here;
        more = go_on(plan, &here);
        tile->next = here.in - place.in;
        move_tile(plan, offsets, tile, place.in, place.out, in_end, stage);
    }
}

void
CT_ISA(transpose_walk)(const TransposePlan *plan, const void *input, void *output, void *scratch)
{
    const Place here = {.in = input, .out = output};
    if (!plan->element)
        return;
    if (!plan->n_axes) {
        if (plan->stream)
            stream_run(output, input, plan->element);
        else
            memcpy(output, input, plan->element);
        finish_stream(plan->stream);
        return;
    }
    Offsets *offsets = &((Scratch *)scratch)->offsets;
    uint8_t *stage = ((Scratch *)scratch)->stage;
    fill_all_offsets(plan, offsets);
    Tile tile = {
        .n_a = offsets->n_a,
        .n_b = offsets->n_b,
        .segment = plan->segment,
        .in_a = offsets->in_a,
        .in_b = offsets->in_b,
        .out_a = offsets->out_a,
        .out_b = offsets->out_b,
    };
    if (plan->segment && (plan->stream || collides(&tile, plan->element)) &&
        CT_ISA(transpose_can_pack)(&tile, plan->element))
        walk_packs(plan, &tile, here, stage);
    else
        walk_tiles(plan, offsets, &tile, here, stage);
    finish_stream(plan->stream);
}
