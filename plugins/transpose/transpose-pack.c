/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposes tiles by way of packs; compiled once per instruction set. */
#include "transpose-vectors.h"

/* Lines of the input that are prefetched, at least. */
#define LINES_AHEAD 64

/* Rows are those of the input, columns those of its contiguous elements, k = 16 / element of them a
 * chunk. A pack has [segment chunk group vector]: for each group of N_NARROW·k rows k vectors, of
 * which vector i has the chunk's columns of rows i, i + k, … The last group overlaps the one before
 * where rows are no multiple; so do the last N_NARROW chunks of a segment. */
typedef struct {
    size_t n_chunks; /* of a segment */
    size_t n_groups;
    size_t pitch;   /* bytes from chunk to chunk, an odd number of lines */
    size_t n_steps; /* packed together: the columns of N_NARROW rows and a segment */
} PackForm;

/* The state of packing a tile: its step, and the columns of a vector within this. */
typedef struct {
    const Tile *tile;
    const PackForm *form;
    const uint8_t *in, *then; /* the tile's input, and that of the one after it, or NULL */
    uint8_t *pack;
    size_t step, ahead; /* steps; those that prefetches are ahead */
    const uint8_t *row[N_NARROW], *fetched[N_NARROW];
    uint8_t *to;
    size_t at;  /* bytes of the rows */
    size_t due; /* vectors that should be packed by now */
} Packer;

INLINE size_t
smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

INLINE PackForm
pack_form(const Tile *tile, const size_t element)
{
    const size_t k = 16 / element, rows = N_NARROW * k;
    PackForm form = {
        .n_groups = (tile->n_b + rows - 1) / rows,
        .n_chunks = (tile->segment * element + CT_VECTOR_BYTES - 1) / CT_VECTOR_BYTES * N_NARROW,
    };
    form.pitch = (((form.n_groups * k * CT_VECTOR_BYTES + LINE - 1) / LINE) | 1) * LINE;
    form.n_steps = tile->n_a / tile->segment * form.n_groups * k;
    return form;
}

bool
CT_ISA(transpose_can_pack)(const Tile *tile, size_t element)
{
    /* Vectors of 16 bytes gain nothing: a line would be packed in many pieces. */
    if (N_NARROW == 1 || element > 16 || tile->segment * element < LINE ||
        tile->n_b * element < LINE)
        return false;
    const PackForm form = pack_form(tile, element);
    return tile->n_a / tile->segment * form.n_chunks * form.pitch <= PACK_BYTES;
}

/* Finds the rows of the next step. */
INLINE void
seek(Packer *self, const size_t element)
{
    const size_t k = 16 / element;
    const PackForm *form = self->form;
    const size_t per_segment = form->n_groups * k;
    const size_t wanted = self->step + self->ahead;
    const bool beyond = wanted >= form->n_steps;
    const size_t steps[2] = {self->step, beyond ? wanted - form->n_steps : wanted};
    const uint8_t *const in[2] = {self->in, beyond ? self->then : self->in};
    const uint8_t **const rows[2] = {self->row, self->fetched};
    for (size_t n = 0; n < 2; n++) {
        const size_t group = steps[n] % per_segment / k;
        const size_t b = smaller(group * N_NARROW * k, self->tile->n_b - N_NARROW * k);
        const ptrdiff_t base = self->tile->in_a[steps[n] / per_segment * self->tile->segment];
        for (size_t j = 0; j < N_NARROW; j++)
            rows[n][j] = in[n] + base + self->tile->in_b[b + steps[n] % k + j * k];
    }
    self->to = self->pack + self->step / per_segment * form->n_chunks * form->pitch +
               self->step % per_segment * CT_VECTOR_BYTES;
    self->at = 0;
}

INLINE Packer
begin_packing(const Tile *tile, const PackForm *form, const uint8_t *in, const uint8_t *then,
              uint8_t *pack, const size_t element)
{
    const size_t lines = N_NARROW * ((tile->segment * element + LINE - 1) / LINE);
    Packer self = {
        .tile = tile,
        .form = form,
        .in = in,
        .then = then ? then : in,
        .pack = pack,
        .ahead = smaller((LINES_AHEAD + lines - 1) / lines, form->n_steps),
        .step = in ? 0 : form->n_steps,
    };
    if (in)
        seek(&self, element);
    return self;
}

/* Packs the next columns of a vector, of N_NARROW rows. */
INLINE void
pack_columns(Packer *self, const size_t element)
{
    const size_t bytes = self->tile->segment * element;
    const size_t at = smaller(self->at, bytes - CT_VECTOR_BYTES);
    Wide1 x[N_NARROW];
    for (size_t j = 0; j < N_NARROW; j++) {
        x[j] = *(const Wide1 *)(self->row[j] + at);
        if (self->at == 0)
            fetch(self->fetched[j]);
        if (self->at % LINE == 0)
            fetch(self->fetched[j] + smaller(self->at + LINE, bytes) - 1);
    }
    turn_squares(x);
    for (size_t j = 0; j < N_NARROW; j++, self->to += self->form->pitch)
        *(Wide1 *)self->to = x[j];
    self->at += CT_VECTOR_BYTES;
    if (self->at >= bytes && ++self->step < self->form->n_steps)
        seek(self, element);
}

/* Packs about `vectors` vectors, until all are packed. */
INLINE void
keep_packing(Packer *self, size_t vectors, const size_t element)
{
    self->due += vectors;
    for (; self->due >= N_NARROW && self->step < self->form->n_steps; self->due -= N_NARROW)
        pack_columns(self, element);
}

/* Turns a chunk: row i of the output begins at out + rows[i]. Meanwhile packs as much. */
INLINE void
turn_chunk(const Tile *tile, const PackForm *form, const uint8_t *pack, uint8_t *out,
           const ptrdiff_t *rows, bool stream, Packer *packer, const size_t element)
{
    const size_t k = 16 / element;
    for (size_t group = 0; group < form->n_groups; group++, pack += k * CT_VECTOR_BYTES) {
        const size_t b = smaller(group * N_NARROW * k, tile->n_b - N_NARROW * k);
        Wide1 x[16];
        for (size_t i = 0; i < k; i++)
            x[i] = *(const Wide1 *)(pack + i * CT_VECTOR_BYTES);
        ROTATE_VECTORS(Wide, x, k, k, element)
        if (stream)
            for (size_t i = 0; i < k; i++)
                stream_vector(out + rows[i] + b * element, x[i]);
        else
            for (size_t i = 0; i < k; i++)
                *(Wide1 *)(out + rows[i] + b * element) = x[i];
        keep_packing(packer, k, element);
    }
}

/* Rows of the output that are contiguous, in the stage until there are many of them. */
typedef struct {
    uint8_t *stage, *to;
    size_t bytes;
} Run;

INLINE void
flush_run(Run *run)
{
    if (run->bytes)
        stream_run(run->to, run->stage, run->bytes);
    run->to += run->bytes;
    run->bytes = 0;
}

/* Turns a chunk by way of the stage; the output has the first rows already. */
INLINE void
stage_chunk(const Tile *tile, const PackForm *form, const uint8_t *pack, uint8_t *out,
            const ptrdiff_t *out_a, size_t first, Run *run, Packer *packer, const size_t element)
{
    const size_t k = 16 / element, row = tile->n_b * element;
    const size_t aside = (row / LINE + 1) * LINE;
    bool adjoin = true;
    for (size_t i = first + 1; i < k; i++)
        adjoin &= out_a[i] - out_a[i - 1] == (ptrdiff_t)row;
    if (!adjoin || out + out_a[first] != run->to + run->bytes) {
        flush_run(run);
        run->to = out + out_a[first];
    }
    ptrdiff_t rows[16];
    for (size_t i = 0; i < k; i++)
        rows[i] = i < first ? PACK_RUN_BYTES + (ptrdiff_t)(k * aside)
                            : (ptrdiff_t)(run->bytes + (i - first) * (adjoin ? row : aside));
    for (size_t i = first; i < k && !adjoin; i++)
        fetch_edges(out + out_a[i], row);
    if (adjoin && !run->bytes)
        fetch_edges(run->to, (k - first) * row);
    turn_chunk(tile, form, pack, run->stage, rows, false, packer, element);
    if (adjoin) {
        run->bytes += (k - first) * row;
        if (run->bytes > PACK_RUN_BYTES)
            flush_run(run);
    } else {
        for (size_t i = first; i < k; i++)
            stream_run(out + out_a[i], run->stage + rows[i], row);
    }
}

INLINE void
turn_pack(const Tile *tile, const Packing *packing, uint8_t *out, const size_t element)
{
    const size_t k = 16 / element, columns = CT_VECTOR_BYTES / element;
    const PackForm form = pack_form(tile, element);
    Packer packer = begin_packing(tile, &form, packing->in, packing->then, packing->next, element);
    Run run = {packing->stage, out, 0};
    const uint8_t *from = packing->pack;
    for (size_t base = 0; base < tile->n_a; base += tile->segment)
        for (size_t c = 0; c < form.n_chunks; c++, from += form.pitch) {
            const size_t before = c / N_NARROW * columns;
            const size_t a = smaller(before, tile->segment - columns) + c % N_NARROW * k;
            const ptrdiff_t *out_a = tile->out_a + base + a;
            if (a + k <= before)
                keep_packing(&packer, form.n_groups * k, element);
            else if (packing->way == PACK_TO_STAGE)
                stage_chunk(tile, &form, from, out, out_a, a < before ? before - a : 0, &run,
                            &packer, element);
            else
                turn_chunk(tile, &form, from, out, out_a, packing->way == PACK_TO_LINES, &packer,
                           element);
        }
    flush_run(&run);
}

INLINE void
pack_all(const Tile *tile, const Packing *packing, uint8_t *pack, const size_t element)
{
    const PackForm form = pack_form(tile, element);
    Packer packer = begin_packing(tile, &form, packing->in, packing->then, pack, element);
    keep_packing(&packer, SIZE_MAX / 2, element);
}

#define EACH_ELEMENT(function, ...)                                                                \
    switch (element) {                                                                             \
    case 1:                                                                                        \
        function(__VA_ARGS__, 1);                                                                  \
        break;                                                                                     \
    case 2:                                                                                        \
        function(__VA_ARGS__, 2);                                                                  \
        break;                                                                                     \
    case 4:                                                                                        \
        function(__VA_ARGS__, 4);                                                                  \
        break;                                                                                     \
    case 8:                                                                                        \
        function(__VA_ARGS__, 8);                                                                  \
        break;                                                                                     \
    case 16:                                                                                       \
        function(__VA_ARGS__, 16);                                                                 \
        break;                                                                                     \
    }

void
CT_ISA(transpose_pack)(const Tile *tile, const Packing *packing, uint8_t *pack, size_t element)
{
    EACH_ELEMENT(pack_all, tile, packing, pack)
}

void
CT_ISA(transpose_turn_pack)(const Tile *tile, const Packing *packing, uint8_t *out, size_t element)
{
    EACH_ELEMENT(turn_pack, tile, packing, out)
}
