/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses how groups of threads share the work of a filter bank. */
#include "pfb-way.h"

#include <math.h>

/* The ways by filters and transforms up to a size, of values of so many bytes. Sums and
 * coefficients of long filters leave room for few values, and many threads leave room for few
 * registers. Other numbers of spectra are taken if all threads then have as many values in each
 * pass. Of complex samples whose number is a power of two, 8 taps keep sums, although samples would
 * take fewer registers. */
static const struct {
    gint64 n_taps, length; /* at most */
    gsize bytes;
    guint vector, ahead;
    gboolean keeps_samples, shares_taps;
    gboolean is_power; /* of complex samples and powers of two alone */
} ways[] = {
    {7, 512, 2, 2, 8, TRUE, TRUE, FALSE},    {8, 512, 2, 2, 8, FALSE, TRUE, TRUE},
    {8, 512, 2, 2, 8, TRUE, TRUE, FALSE},    {8, 2048, 2, 4, 4, TRUE, TRUE, FALSE},
    {8, 4096, 2, 8, 2, TRUE, TRUE, TRUE},    {8, 512, 8, 2, 8, FALSE, FALSE, FALSE},
    {8, 1024, 8, 4, 4, FALSE, FALSE, FALSE}, {16, 512, 2, 2, 8, TRUE, TRUE, FALSE},
    {16, 512, 8, 2, 8, FALSE, FALSE, FALSE}, {32, 256, 8, 1, 8, FALSE, FALSE, FALSE},
    {4, 4096, 4, 8, 2, TRUE, TRUE, TRUE},    {2, 4096, 8, 8, 2, TRUE, TRUE, TRUE},
    {64, 128, 8, 1, 8, FALSE, TRUE, TRUE},
};

enum { BY_SIZE, KEEPS_SUMS, KEEPS_SAMPLES };
const CtTunable ct_pfb_tunables[] = {
    [PFB_THREADS] = {"threads", CT_VALUES(64, 128, 256), 128, "of a block, if groups are warps"},
    [PFB_VECTOR] = {"vector", CT_VALUES(0, 1, 2, 4, 8), 0, "phases of a thread; 0: by the sizes"},
    [PFB_AHEAD] = {"ahead", CT_VALUES(0, 2, 4, 5, 8, 10, 16), 0,
                   "spectra that are filtered, then transformed; 0: by the sizes"},
    [PFB_KEEPS] = {"keeps", CT_VALUES(BY_SIZE, KEEPS_SUMS, KEEPS_SAMPLES), BY_SIZE,
                   "from spectrum to spectrum: 1 sums, 2 samples; 0: by the sizes"},
    [PFB_BUFFERS] =
        {"buffers", CT_VALUES(0, 1), 0,
         "in shared memory, of a group; 0: two if its threads are not a warp and both fit"},
    {NULL},
};

/* The most values of a thread, usually and ever. Registers of a multiprocessor. */
#define USUAL_VALUES   16
#define MOST_VALUES    20
#define REGISTERS      65536
#define MOST_REGISTERS 255 /* of a thread */
/* Registers that a thread needs beside those for numbers, on any device and with any number of
 * taps. */
#define OTHER_REGISTERS 52
#define LEAST_AHEAD     2
/* The most threads of groups that wait for each other. The part of the threads of warps that are
 * enough to have work. */
#define MOST_WAITING 256
#define ENOUGH_WORK  0.9
/* The bytes of a channel that are written together, at least: a sector of memory. Those that lie
 * between two channels in shared memory. */
#define SECTOR_BYTES 32
#define GAP_BYTES    8

PfbBank
ct_pfb_bank(const CtNode *nodes)
{
    const CtType type = nodes[0].inputs[0].type;
    const gint64 n_phases = ct_stream_length(&nodes[0].outputs[0], "phase");
    const guint parts = ct_type_info(type)->is_complex ? 1 : 2;
    return (PfbBank){
        .n_phases = n_phases,
        .n_taps = nodes[0].footprint.window / n_phases,
        .n_channels = parts == 1 ? n_phases : n_phases / 2 + 1,
        .length = n_phases / parts,
        .type = type,
        .parts = parts,
    };
}

gboolean
ct_pfb_way_ahead(PfbWay *way, gint64 length, guint usual)
{
    FftRadices radices;
    const guint ahead = ct_fft_radices_choose(&radices, length, way->vector, LEAST_AHEAD, usual);
    if (ahead == 0)
        return FALSE;
    way->ahead = ahead;
    way->radices = radices;
    return TRUE;
}

void
ct_pfb_way_fold(PfbWay *way, gint64 length)
{
    const guint last = way->vector, n_values = last * way->ahead;
    FftRadices radices;
    if (length % last != 0 || last < 2 ||
        !ct_fft_radices_find(&radices, length / last, last, n_values) ||
        radices.n_passes + 1 > way->radices.n_passes)
        return;
    radices.radix[radices.n_passes++] = last;
    way->radices = radices;
}

static gboolean
is_power(gint64 length)
{
    return (length & (length - 1)) == 0;
}

/* Threads write runs of up to 16 elements side by side in words of 16 bytes; each has the same
 * words of some runs. */
gboolean
ct_pfb_way_divide(PfbWay *way, gint64 length, guint usual)
{
    if (!is_power(length) && length % PFB_BLOCK != 0)
        return FALSE;
    for (guint ahead = PFB_BLOCK; ahead >= LEAST_AHEAD; ahead /= 2) {
        FftRadices radices;
        if (ahead > usual ||
            !ct_fft_radices_find(&radices, length, way->vector, way->vector * ahead))
            continue;
        way->ahead = ahead;
        way->radices = radices;
        return TRUE;
    }
    return FALSE;
}

/* Whether a row of the table has room for this bank. */
static gboolean
has_room(gsize row, const PfbBank *bank)
{
    const gsize bytes = ct_type_info(bank->type)->bytes * bank->parts;
    return bank->n_taps <= ways[row].n_taps && bank->length <= ways[row].length &&
           bytes <= ways[row].bytes &&
           (!ways[row].is_power || (bank->parts == 1 && is_power(bank->length)));
}

/* The coefficients of real samples are twice as many as a thread's values. */
gboolean
ct_pfb_way_find(PfbWay *way, const PfbBank *bank)
{
    const gint64 length = bank->length;
    gsize i = 0;
    while (i < G_N_ELEMENTS(ways) && !has_room(i, bank))
        i++;
    if (i == G_N_ELEMENTS(ways) || bank->n_phases % bank->parts != 0)
        return FALSE;
    *way = (PfbWay){
        .keeps_samples = ways[i].keeps_samples,
        .shares_taps = ways[i].shares_taps || bank->parts > 1,
    };
    for (way->vector = ways[i].vector; way->vector >= bank->parts; way->vector /= 2)
        if (length <= PFB_MOST_THREADS * way->vector &&
            ct_pfb_way_ahead(way, length, ways[i].vector * ways[i].ahead / way->vector))
            return TRUE;
    return FALSE;
}

gint64
ct_pfb_most_phases(const PfbBank *like, gint64 n_taps)
{
    PfbBank bank = *like;
    gint64 most = 0;
    PfbWay way;
    bank.n_taps = n_taps;
    for (bank.length = 2; ct_pfb_way_find(&way, &bank); bank.length *= 2)
        most = bank.length * bank.parts;
    return most;
}

/* Registers for what a thread keeps, filters and has read ahead. */
static guint
count_filter_registers(const PfbBank *bank, const PfbWay *way)
{
    const guint n_values = way->vector * way->ahead, n_taps = (guint)bank->n_taps;
    const guint bytes = MAX((guint)ct_type_info(bank->type)->bytes * bank->parts, 2);
    const guint sample_registers = n_values * bytes / 4;
    if (way->keeps_samples)
        /* Those kept, sums, and coefficients and samples of some phases, converted. */
        return (n_taps - 1) * way->vector * bytes / 4 + 2 * n_values + n_taps + 7 +
               2 * sample_registers;
    /* If sums take few registers, samples that are read ahead are kept beside those that are
     * filtered. */
    return n_taps * (way->shares_taps ? 1 : way->vector) + 2 * (n_taps - 1) * way->vector +
           2 * n_values + (n_taps < 8 || bank->parts > 1 ? 2 : 1) * sample_registers;
}

gboolean
ct_pfb_in_place(const PfbBank *bank, const PfbWay *way)
{
    const FftRadices *radices = &way->radices;
    const guint n_values = way->vector * way->ahead, last = radices->radix[2];
    return bank->parts == 1 && way->vector > 2 && radices->n_passes == 3 &&
           radices->radix[0] == 16 && radices->radix[1] == 16 && n_values % 16 == 0 &&
           n_values % last == 0 && last % way->vector == 0;
}

gint64
ct_pfb_pitch(const PfbBank *bank, const PfbWay *way)
{
    const gint64 length = bank->length;
    if (ct_pfb_in_place(bank, way))
        return 16 * (16 * (length / 256 + 2) + 2);
    const gint64 apart = length / way->radices.radix[0], n_banks = MIN(length, 16);
    gint64 pitch = length + length / 16;
    while (apart < 16 && pitch % n_banks != apart % n_banks)
        pitch++;
    const gint64 whole = MAX(way->vector, 2);
    return (pitch + whole - 1) / whole * whole;
}

guint
ct_pfb_registers(const PfbBank *bank, const PfbWay *way)
{
    const guint n_values = way->vector * way->ahead;
    guint registers = count_filter_registers(bank, way);

    /* Samples other than bytes are converted beforehand, and with more than two passes each pass
     * has places of its own. */
    registers += !way->keeps_samples && (bank->type != CT_CI8 || way->radices.n_passes > 2)
                     ? n_values / 2
                     : 0;
    return registers + 2 * (ct_fft_radices_held(&way->radices, n_values) - n_values) +
           ct_fft_radices_registers(&way->radices) + (bank->parts > 1 ? way->vector : 0);
}

gsize
ct_pfb_buffer_bytes(const PfbBank *bank, const PfbWay *way)
{
    return way->ahead * (gsize)ct_pfb_pitch(bank, way) * 2 * sizeof(float);
}

gsize
ct_pfb_taps_bytes(const PfbBank *bank, const PfbWay *way)
{
    const gint64 n_taps = (bank->n_taps + 3) / 4 * 4;
    return way->shares_taps ? (gsize)(bank->n_phases * n_taps) * sizeof(float) : 0;
}

gsize
ct_pfb_states_bytes(const PfbBank *bank, gsize state_bytes)
{
    return (gsize)bank->n_channels * state_bytes;
}

gint64
ct_pfb_together(const PfbWay *way, gsize element_bytes)
{
    return MAX(way->ahead, MIN(PFB_BLOCK, SECTOR_BYTES / (gint64)element_bytes));
}

gsize
ct_pfb_staged_bytes(const PfbBank *bank, const PfbWay *way, gsize element_bytes)
{
    const gsize run = (gsize)ct_pfb_together(way, element_bytes) * element_bytes;
    return (gsize)bank->n_channels * (run + MAX(GAP_BYTES, element_bytes));
}

PfbWay
ct_pfb_way_choose(const PfbWay *usual, const gint64 *tuning, const PfbBank *bank)
{
    const gint64 length = bank->length;
    PfbWay way = *usual;
    way.vector = tuning[PFB_VECTOR] ? (guint)tuning[PFB_VECTOR] : way.vector;
    way.keeps_samples = tuning[PFB_KEEPS] ? tuning[PFB_KEEPS] == KEEPS_SAMPLES : way.keeps_samples;
    way.shares_taps =
        way.keeps_samples || bank->parts > 1 || (!usual->keeps_samples && usual->shares_taps);
    if (tuning[PFB_AHEAD])
        way.ahead = (guint)tuning[PFB_AHEAD];
    const guint n_values = way.vector * way.ahead;
    if (length % way.vector != 0 || way.vector < bank->parts ||
        length > PFB_MOST_THREADS * way.vector)
        return *usual;
    const gboolean has_radices =
        tuning[PFB_AHEAD] ? n_values >= 4 && n_values <= MOST_VALUES &&
                                ct_fft_radices_find(&way.radices, length, way.vector, n_values)
        : tuning[PFB_VECTOR]
            ? ct_pfb_way_ahead(&way, length, MIN(way.ahead, USUAL_VALUES / way.vector))
            : TRUE;
    if (!has_radices)
        return *usual;
    const gint64 threads = MAX(tuning[PFB_THREADS], length / way.vector);
    const gint64 registers = ct_pfb_registers(bank, &way) + OTHER_REGISTERS;
    return registers > MOST_REGISTERS || registers * threads > REGISTERS ? *usual : way;
}

guint
ct_pfb_groups(const PfbWay *way, gint64 length, gint64 threads)
{
    const gint64 group = length / way->vector;
    gdouble most = 0;
    guint best = 1;
    if (PFB_WARP % group == 0)
        return (guint)MAX(1, threads / group);
    for (guint n = 1; most < ENOUGH_WORK && (n == 1 || n * group <= MOST_WAITING); n++) {
        const gdouble warps = ceil((gdouble)(n * group) / PFB_WARP);
        const gdouble part = (gdouble)(n * group) / (PFB_WARP * warps);
        best = part > most ? n : best;
        most = MAX(part, most);
    }
    return best;
}

/* Whether a value has its effect, and another one than the usual value. */
static gboolean
has_effect(gint64 wanted, gint64 value, gint64 usual)
{
    return wanted == 0 || (wanted == value && value != usual);
}

gboolean
ct_pfb_differs(const CtNode *nodes, const gint64 *tuning)
{
    const gint64 threads = ct_pfb_tunables[PFB_THREADS].fallback;
    const PfbBank bank = ct_pfb_bank(nodes);
    PfbWay usual;

    if (!ct_pfb_way_find(&usual, &bank))
        return FALSE;
    const PfbWay way = ct_pfb_way_choose(&usual, tuning, &bank);
    return has_effect(tuning[PFB_VECTOR], way.vector, usual.vector) &&
           has_effect(tuning[PFB_AHEAD], way.ahead, usual.ahead) &&
           has_effect(tuning[PFB_KEEPS], way.keeps_samples ? KEEPS_SAMPLES : KEEPS_SUMS,
                      usual.keeps_samples ? KEEPS_SAMPLES : KEEPS_SUMS) &&
           (tuning[PFB_BUFFERS] == 0 || PFB_WARP % (bank.length / way.vector) != 0) &&
           (tuning[PFB_THREADS] == threads ||
            ct_pfb_groups(&way, bank.length, tuning[PFB_THREADS]) !=
                ct_pfb_groups(&way, bank.length, threads));
}
