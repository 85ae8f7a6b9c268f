/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer with weights as ci8 on the processor: sums of products of bytes, by VNNI or AMX.
 *
 * An element of a vector is a part of a beam, and an instruction adds the products of its weights
 * and the voltages of a pair of stations: 4 bytes, whose voltages are the same for all elements. As
 * the instructions want one factor without sign, half of the voltages' range is added to them, and
 * its products with the weights are subtracted from the sums. Voltages of 16 bits have two
 * *planes*, their high and their low bytes, whose sums are put together modulo 2^32. Sums are
 * exact; they become single precision when they are multiplied by the scale. */
#include "beamform-quantise.h"
#include "beamform-write.h"

#include <immintrin.h>

/* Times that are summed at once: rows of two matrices, or of sums in registers. */
#if defined(__AMX_INT8__)
#define GROUP 32
#elif CT_VECTOR_BYTES == 64
#define GROUP 8
#else
#define GROUP 4
#endif

/* Pairs of stations in a matrix, and its rows. */
#define MOST_DEPTH  16
#define MATRIX_ROWS 16
/* Voltages of a chunk, from which some beams are computed before the next beams. */
#define CHUNK_BYTES (16 << 10)

typedef gint32 Ints __attribute__((vector_size(CT_VECTOR_BYTES)));
/* Sums modulo 2^32: with what is added to make voltages positive, they may exceed 31 bits. */
typedef guint32 Sums __attribute__((vector_size(CT_VECTOR_BYTES)));

typedef struct {
    CtType type; /* of the voltages */
    gsize n_beams, n_stations, n_pols;
    gsize n_depths, depth; /* matrices along the stations, and the pairs of one */
    gsize n_planes, plane_bytes;
    gsize row_bytes; /* of a time's voltages of one polarisation, [plane][station] */
    gsize chunk;     /* times, a multiple of GROUP */
} Bytes;

/* A vector of weights for each pair of stations, and what ends the sums. */
typedef struct {
    Sums start;   /* the sum of nothing but what is subtracted */
    Vector scale; /* of the elements' beams */
    gint8 weights[];
} Panel;

static gsize
n_pairs(const Bytes *shape)
{
    return shape->n_depths * shape->depth;
}

static gsize
panel_bytes(const Bytes *shape)
{
    return sizeof(Panel) + n_pairs(shape) * CT_VECTOR_BYTES;
}

static gsize
n_panels(const Bytes *shape)
{
    return (shape->n_beams + VECTOR_FLOATS - 1) / VECTOR_FLOATS * 2;
}

static gsize
tile_bytes(const Bytes *shape)
{
    return GROUP * shape->n_pols * 2 * CT_VECTOR_BYTES;
}

/* The number that is added to voltages, so that they are not negative. For ci4, 8 would do. */
static guint32
half_range(const Bytes *shape)
{
    return shape->n_planes == 2 ? 32768 : 128;
}

/* ---- weights ---- */

static float
find_scale(const Bytes *shape, const guint8 *weights, gint64 station_stride)
{
    unsigned largest = 0;
    for (gsize s = 0; s < shape->n_stations; s++) {
        const float *w = (const float *)(weights + (gint64)s * station_stride);
        largest = MAX(largest, MAX(beamform_size(w[0]), beamform_size(w[1])));
    }
    return beamform_scale(BEAMFORM_CI8, largest);
}

/* Packs the weights of a beam into elements `at` and at + 1: its parts. */
static void
pack_beam(const Bytes *shape, const guint8 *weights, gint64 station_stride, Panel *panel, gsize at)
{
    const float scale = find_scale(shape, weights, station_stride);
    gint32 sums[2] = {0};
    for (gsize s = 0; s < shape->n_stations; s++) {
        const float *w = (const float *)(weights + (gint64)s * station_stride);
        const gint8 re = (gint8)beamform_level(BEAMFORM_CI8, w[0], scale);
        const gint8 im = (gint8)beamform_level(BEAMFORM_CI8, w[1], scale);
        gint8 *to = panel->weights + s / 2 * CT_VECTOR_BYTES + at * 4 + s % 2 * 2;
        to[0] = re;
        to[1] = (gint8)-im;
        to[4] = im;
        to[5] = re;
        sums[0] += re - im;
        sums[1] += re + im;
    }
    for (gsize part = 0; part < 2; part++) {
        panel->start[at + part] = (guint32)-sums[part] * half_range(shape);
        panel->scale[at + part] = scale;
    }
}

static void
pack(const Beamform *self, const guint8 *weights, gint64 beam_stride, gint64 station_stride,
     gpointer set)
{
    const Bytes *shape = self->own;
    const gsize bytes = panel_bytes(shape);
    memset(set, 0, n_panels(shape) * bytes);
    for (gsize b = 0; b < shape->n_beams; b++) {
        Panel *panel = (Panel *)((guint8 *)set + b / (VECTOR_FLOATS / 2) * bytes);
        pack_beam(shape, weights + (gint64)b * beam_stride, station_stride, panel,
                  b % (VECTOR_FLOATS / 2) * 2);
    }
}

/* ---- voltages ---- */

/* Both parts of n voltages of a plane, which are `across` bytes apart. */
typedef void (*Read)(const guint8 *from, gint64 across, gsize n, guint16 *to);

static inline guint16
make_ci4(const guint8 *from)
{
    const guint8 re = (guint8)(((gint8)*from >> 4) + 128);
    const guint8 im = (guint8)(((gint8)(guint8)(*from << 4) >> 4) + 128);
    return (guint16)(re | im << 8);
}

static inline guint16
make_ci8(const guint8 *from)
{
    guint16 parts;
    memcpy(&parts, from, sizeof parts);
    return parts ^ 0x8080;
}

static inline guint16
make_high(const guint8 *from)
{
    return (guint16)((from[1] | from[3] << 8) ^ 0x8080);
}

static inline guint16
make_low(const guint8 *from)
{
    return (guint16)(from[0] | from[2] << 8);
}

/* The loops of usual strides are vectors. */
#define READ(name, size)                                                                           \
    static void read_##name(const guint8 *from, gint64 across, gsize n, guint16 *to)               \
    {                                                                                              \
        if (across == (size))                                                                      \
            for (gsize s = 0; s < n; s++)                                                          \
                to[s] = make_##name(from + s * (size));                                            \
        else if (across == 2 * (size))                                                             \
            for (gsize s = 0; s < n; s++)                                                          \
                to[s] = make_##name(from + s * 2 * (size));                                        \
        else                                                                                       \
            for (gsize s = 0; s < n; s++)                                                          \
                to[s] = make_##name(from + (gint64)s * across);                                    \
    }
READ(ci4, 1)
READ(ci8, 2)
READ(high, 4)
READ(low, 4)

/* By plane, and by the most stations of which sums fit 32 bits. */
static const struct {
    Read planes[2];
    gint64 most_stations;
} readers[CT_N_TYPES] = {
    [CT_CI4] = {{read_ci4}, 65535},
    [CT_CI8] = {{read_ci8}, 65535},
    [CT_CI16] = {{read_high, read_low}, 258},
};

/* Voltages of n times, to rows [pol][time]. */
static void
read_chunk(const Bytes *shape, const guint8 *from, const BeamformStrides *strides, gsize n,
           guint8 *rows)
{
    for (gsize p = 0; p < shape->n_pols; p++)
        for (gsize t = 0; t < n; t++)
            for (gsize plane = 0; plane < shape->n_planes; plane++)
                readers[shape->type].planes[plane](
                    from + (gint64)t * strides->time + (gint64)p * strides->pol, strides->across,
                    shape->n_stations,
                    (guint16 *)(rows + (p * shape->chunk + t) * shape->row_bytes +
                                plane * shape->plane_bytes));
}

/* ---- sums ---- */

/* Sums become parts of beams. */
static inline void
end_sum(Sums sum, const Panel *panel, gfloat *to)
{
    *(Vector *)to = __builtin_convertvector((Ints)(sum + panel->start), Vector) * panel->scale;
}

#if defined(__AMX_INT8__)

/* Tiles: sums of two matrices of times by two panels; voltages of the times; weights of the panels.
 * Their numbers are parts of instructions. */
#define SUMS_0     0
#define SUMS_1     1
#define SUMS_2     2
#define SUMS_3     3
#define VOLTAGES_0 4
#define VOLTAGES_1 5
#define WEIGHTS_0  6
#define WEIGHTS_1  7
#define N_TILES    8

typedef struct {
    guint8 palette, start_row, reserved[14];
    guint16 row_bytes[16];
    guint8 n_rows[16];
} TileConfig;

static void
begin_tiles(const Bytes *shape)
{
    TileConfig config = {.palette = 1};
    for (guint i = 0; i < N_TILES; i++) {
        config.row_bytes[i] =
            (guint16)(i >= VOLTAGES_0 && i < WEIGHTS_0 ? shape->depth * 4 : CT_VECTOR_BYTES);
        config.n_rows[i] = (guint8)(i >= WEIGHTS_0 ? shape->depth : MATRIX_ROWS);
    }
    _tile_loadconfig(&config);
}

static void
end_tiles(void)
{
    _tile_release();
}

/* The sums of a plane, [matrix of times][panel]. */
static void
multiply(const Bytes *shape, const guint8 *rows, const Panel *panels, const Panel *others, gsize n,
         Sums sums[4][MATRIX_ROWS])
{
    const gsize row_bytes = shape->row_bytes;

    _tile_zero(SUMS_0);
    _tile_zero(SUMS_1);
    _tile_zero(SUMS_2);
    _tile_zero(SUMS_3);
    for (gsize d = 0; d < shape->n_depths; d++, rows += shape->depth * 4) {
        const gsize at = d * shape->depth * CT_VECTOR_BYTES;
        _tile_loadd(VOLTAGES_0, rows, row_bytes);
        _tile_loadd(WEIGHTS_0, panels->weights + at, CT_VECTOR_BYTES);
        _tile_loadd(WEIGHTS_1, others->weights + at, CT_VECTOR_BYTES);
        _tile_dpbusd(SUMS_0, VOLTAGES_0, WEIGHTS_0);
        _tile_dpbusd(SUMS_1, VOLTAGES_0, WEIGHTS_1);
        if (n <= MATRIX_ROWS)
            continue;
        _tile_loadd(VOLTAGES_1, rows + MATRIX_ROWS * row_bytes, row_bytes);
        _tile_dpbusd(SUMS_2, VOLTAGES_1, WEIGHTS_0);
        _tile_dpbusd(SUMS_3, VOLTAGES_1, WEIGHTS_1);
    }
    _tile_stored(SUMS_0, sums[0], CT_VECTOR_BYTES);
    _tile_stored(SUMS_1, sums[1], CT_VECTOR_BYTES);
    _tile_stored(SUMS_2, sums[2], CT_VECTOR_BYTES);
    _tile_stored(SUMS_3, sums[3], CT_VECTOR_BYTES);
}

/* Parts of VECTOR_FLOATS beams of `n` times, in rows row_step floats apart. */
static void
sum_group(const Bytes *shape, const guint8 *rows, const Panel *panels, gsize n, gfloat *tile,
          gsize row_step)
{
    const Panel *others = (const Panel *)((const guint8 *)panels + panel_bytes(shape));
    Sums sums[4][MATRIX_ROWS], low[4][MATRIX_ROWS];

    multiply(shape, rows, panels, others, n, sums);
    if (shape->n_planes == 2) {
        multiply(shape, rows + shape->plane_bytes, panels, others, n, low);
        for (gsize i = 0; i < 4 * MATRIX_ROWS; i++)
            sums[i / MATRIX_ROWS][i % MATRIX_ROWS] = (sums[i / MATRIX_ROWS][i % MATRIX_ROWS] << 8) +
                                                     low[i / MATRIX_ROWS][i % MATRIX_ROWS];
    }
    for (gsize t = 0; t < n; t++, tile += row_step) {
        const gsize matrix = t / MATRIX_ROWS * 2, row = t % MATRIX_ROWS;
        end_sum(sums[matrix][row], panels, tile);
        end_sum(sums[matrix + 1][row], others, tile + VECTOR_FLOATS);
    }
}

#else

static void
begin_tiles(G_GNUC_UNUSED const Bytes *shape)
{
}

static void
end_tiles(void)
{
}

static inline Sums
add_products(Sums sum, gint32 voltages, Ints weights)
{
#if CT_VECTOR_BYTES == 64
    return (Sums)_mm512_dpbusd_epi32((__m512i)sum, _mm512_set1_epi32(voltages), (__m512i)weights);
#else
    return (Sums)_mm256_dpbusd_avx_epi32((__m256i)sum, _mm256_set1_epi32(voltages),
                                         (__m256i)weights);
#endif
}

/* Parts of VECTOR_FLOATS beams of a group of times, in rows row_step floats apart. */
static void
sum_group(const Bytes *shape, const guint8 *rows, const Panel *panels, G_GNUC_UNUSED gsize n,
          gfloat *tile, gsize row_step)
{
    const Panel *others = (const Panel *)((const guint8 *)panels + panel_bytes(shape));
    const gsize row_bytes = shape->row_bytes;
    Sums sum[GROUP][2];

#pragma GCC unroll 8
    for (gsize t = 0; t < GROUP; t++)
        sum[t][0] = sum[t][1] = (Sums){0};
    for (gsize plane = 0; plane < shape->n_planes; plane++) {
        const guint8 *from = rows + plane * shape->plane_bytes;
#pragma GCC unroll 8
        for (gsize t = 0; t < GROUP; t++) {
            sum[t][0] <<= 8;
            sum[t][1] <<= 8;
        }
        for (gsize pair = 0; pair < n_pairs(shape); pair++, from += 4) {
            const Ints weights = *(const Ints *)(panels->weights + pair * CT_VECTOR_BYTES);
            const Ints further = *(const Ints *)(others->weights + pair * CT_VECTOR_BYTES);
#pragma GCC unroll 8
            for (gsize t = 0; t < GROUP; t++) {
                gint32 voltages;
                memcpy(&voltages, from + t * row_bytes, sizeof voltages);
                sum[t][0] = add_products(sum[t][0], voltages, weights);
                sum[t][1] = add_products(sum[t][1], voltages, further);
            }
        }
    }
#pragma GCC unroll 8
    for (gsize t = 0; t < GROUP; t++, tile += row_step) {
        end_sum(sum[t][0], panels, tile);
        end_sum(sum[t][1], others, tile + VECTOR_FLOATS);
    }
}

#endif

static void
sum(const Beamform *self, const void *const *sets, const guint8 *voltages,
    const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gint64 n,
    G_GNUC_UNUSED const guint8 *next, gpointer scratch)
{
    const Bytes *shape = self->own;
    const gsize n_times = (gsize)n, n_pols = shape->n_pols;
    gfloat *tile = scratch;
    guint8 *rows = (guint8 *)scratch + tile_bytes(shape);

    begin_tiles(shape);
    for (gsize begin = 0; begin < n_times; begin += shape->chunk) {
        const gsize length = MIN(shape->chunk, n_times - begin);
        read_chunk(shape, voltages + (gint64)begin * from->time, from, length, rows);
        for (gsize b = 0; b < shape->n_beams; b += VECTOR_FLOATS) {
            const gsize at = b / VECTOR_FLOATS * 2 * panel_bytes(shape);
            for (gsize t = 0; t < length; t += GROUP) {
                const gsize some = MIN(GROUP, length - t);
                for (gsize p = 0; p < n_pols; p++)
                    sum_group(shape, rows + (p * shape->chunk + t) * shape->row_bytes,
                              (const Panel *)((const guint8 *)sets[p] + at), some,
                              tile + p * 2 * VECTOR_FLOATS, n_pols * 2 * VECTOR_FLOATS);
                write_tile(n_pols, VECTOR_FLOATS, tile, some,
                           MIN(VECTOR_FLOATS, shape->n_beams - b),
                           beams + (gint64)(begin + t) * to->time + (gint64)b * to->across, to);
            }
        }
    }
    end_tiles();
}

/* ---- the variant ---- */

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Beamform *self = *state = ct_beamform_new(prepare, error);
    if (!self)
        return FALSE;
    Bytes *shape = self->own = g_new(Bytes, 1);
    *shape = (Bytes){
        .type = self->type,
        .n_beams = (gsize)self->n_beams,
        .n_stations = (gsize)self->n_stations,
        .n_pols = (gsize)self->n_pols,
    };
    const gsize pairs = (shape->n_stations + 1) / 2;
    shape->n_depths = (pairs + MOST_DEPTH - 1) / MOST_DEPTH;
    shape->depth = (pairs + shape->n_depths - 1) / shape->n_depths;
    shape->n_planes = readers[shape->type].planes[1] ? 2 : 1;
    shape->plane_bytes = (n_pairs(shape) * 4 + 63) / 64 * 64;
    shape->row_bytes = shape->n_planes * shape->plane_bytes;
    const gsize times = CHUNK_BYTES / (shape->row_bytes * shape->n_pols) / GROUP;
    shape->chunk = MAX(times, 1) * GROUP;
    self->method = (BeamformMethod){
        .set_bytes = n_panels(shape) * panel_bytes(shape),
        .scratch_bytes = tile_bytes(shape) + shape->n_pols * shape->chunk * shape->row_bytes,
        .makes_levels = TRUE,
        .pack = pack,
        .sum = sum,
    };
    return ct_beamform_allocate(self, prepare, error);
}

static gboolean
fits(const CtNode *nodes, char **reason)
{
    const CtStream *voltages = &nodes[0].inputs[0];
    const gint64 most = readers[voltages->type].most_stations;
    if (ct_params_choice(nodes[0].params, "weights_as") == BEAMFORM_CI8)
        return ct_beamform_holds(nodes, most, reason);
    *reason = g_strdup("it wants `weights_as: ci8`");
    return FALSE;
}

/* The part of the vectors that beams fill. */
static gdouble
share(const CtNode *nodes, G_GNUC_UNUSED const CtLayout *inputs,
      G_GNUC_UNUSED const CtLayout *outputs)
{
    const gint64 n_beams = ct_stream_length(&nodes[0].outputs[0], "beam");
    const gint64 n_vectors = (n_beams + VECTOR_FLOATS - 1) / VECTOR_FLOATS;
    return (gdouble)n_beams / (gdouble)(n_vectors * VECTOR_FLOATS);
}

/* The speed beside that of sums in single precision, as measured with many beams. */
#if defined(__AMX_INT8__)
#define PEAK 3
#elif CT_VECTOR_BYTES == 64
#define PEAK 2.4
#else
#define PEAK 2.8
#endif
#define ROW(voltages, beams, efficiency)                                                           \
    {                                                                                              \
        "any: ci4|ci8|ci16" voltages ", cf32{beam station ...} -> cf32" beams, efficiency *PEAK    \
    }

const CtVariant CT_ISA(ct_beamform_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"beamform", NULL},
    .rows = (const CtRow[]){BEAMFORM_ROWS, {NULL}},
    .share = share,
    .split = "*",
    .fits = fits,
    .prepare = prepare,
    .advance = ct_beamform_advance,
    .work = ct_beamform_work,
    .finish = ct_beamform_finish,
};
