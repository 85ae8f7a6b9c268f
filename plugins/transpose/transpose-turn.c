/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans turns: units, tiles, words, and the positions of their bits. */
#include "transpose-turn.h"

#include <cornerturn/kit/device-map.h>

/* From this many contiguous bytes on both sides, a plain copy serves as well. */
#define LONG_RUN 256
/* The bytes of a memory transaction. */
#define LINE       128
#define ROUND_BITS 5
G_STATIC_ASSERT(1 << ROUND_BITS == TURN_ROUNDS);

/* The sides of a turn. */
typedef enum { IN, OUT, N_SIDES } Side;

typedef struct {
    gint64 length;             /* units */
    gint64 stride[N_SIDES];    /* bytes */
    guint bits;                /* of the tile along it */
    guint group_bits[N_SIDES]; /* the lowest of these, in a side's words */
    gint64 first;              /* units before the axis at which its tiles begin */
    gint edge;
} Axis;

typedef struct {
    gint64 unit;
    guint unit_bits, group_bits, thread_bits;
    guint n_axes;
    Axis axes[TURN_AXES];
    guint order[N_SIDES][TURN_AXES]; /* the fastest first */
    guint64 base[N_SIDES];           /* addresses */
} Plan;

/* A bit of the number of a unit. */
typedef struct {
    guint axis, bit;
} Bit;

/* ---- units ---- */

static guint
log2_of(gint64 n)
{
    guint bits = 0;
    while ((gint64)1 << bits < n)
        bits++;
    return bits;
}

/* Describes the box in units of 1 << unit_bits bytes, of one or several elements; FALSE if they do
 * not fit. */
static gboolean
set_units(Plan *plan, const CtBox *box, gint64 bytes, guint unit_bits)
{
    const gint64 unit = (gint64)1 << unit_bits;
    guint64 places = GPOINTER_TO_SIZE(box->in) | GPOINTER_TO_SIZE(box->out);
    *plan = (Plan){
        .unit = unit,
        .unit_bits = unit_bits,
        .base = {GPOINTER_TO_SIZE(box->in), GPOINTER_TO_SIZE(box->out)},
    };
    for (guint a = box->n_axes; a-- > 0;) {
        CtBoxAxis axis = box->axes[a];
        const gboolean is_run = axis.in == bytes && axis.out == bytes;
        if (unit > bytes && is_run) {
            if (axis.length * bytes % unit != 0)
                return FALSE;
            axis = (CtBoxAxis){axis.length * bytes / unit, unit, unit, 0};
        } else if (unit > bytes && a == box->n_axes - 1) {
            return FALSE;
        }
        places |= (guint64)axis.in | (guint64)axis.out;
        if (axis.length > 1)
            plan->axes[plan->n_axes++] =
                (Axis){.length = axis.length, .stride = {axis.in, axis.out}, .edge = -1};
    }
    for (guint side = 0; side < N_SIDES; side++)
        for (guint a = 0; a < plan->n_axes; a++) {
            guint i = a;
            for (; i > 0 &&
                   plan->axes[plan->order[side][i - 1]].stride[side] > plan->axes[a].stride[side];
                 i--)
                plan->order[side][i] = plan->order[side][i - 1];
            plan->order[side][i] = a;
        }
    return places % (guint64)unit == 0;
}

/* ---- tiles ---- */

/* The first of the contiguous axes of the side that the tile does not contain whole; −1: none.
 * *run: contiguous bytes of the side that the tile reads or writes. */
static gint
next_axis(const Plan *plan, Side side, gint64 *run)
{
    *run = plan->unit;
    for (guint i = 0; i < plan->n_axes; i++) {
        const guint a = plan->order[side][i];
        const Axis *axis = &plan->axes[a];
        if (axis->stride[side] != *run)
            return -1;
        if ((gint64)1 << axis->bits < axis->length) {
            *run <<= axis->bits;
            return (gint)a;
        }
        *run *= axis->length;
    }
    return -1;
}

static gboolean
grow(Plan *plan, gint a, guint *n_sides)
{
    if (a < 0 || (plan->axes[a].bits == 0 && *n_sides == TURN_EDGES))
        return FALSE;
    *n_sides += plan->axes[a].bits++ == 0;
    return TRUE;
}

/* The axis with the shortest stride in the output that the tile does not contain whole. */
static gint
nearest_axis(const Plan *plan)
{
    for (guint i = 0; i < plan->n_axes; i++) {
        const Axis *axis = &plan->axes[plan->order[OUT][i]];
        if ((gint64)1 << axis->bits < axis->length)
            return (gint)plan->order[OUT][i];
    }
    return -1;
}

/* Chooses a tile of 1 << bits units: runs of the two sides grow alternately. */
static void
choose_tile(Plan *plan, guint bits)
{
    guint n_sides = 0;
    for (guint a = 0; a < plan->n_axes; a++)
        plan->axes[a].bits = 0;
    for (guint i = 0; i < bits; i++) {
        gint64 in_run, out_run;
        const gint in = next_axis(plan, IN, &in_run), out = next_axis(plan, OUT, &out_run);
        const gboolean out_first = out_run <= in_run;
        if (!grow(plan, out_first ? out : in, &n_sides) &&
            !grow(plan, out_first ? in : out, &n_sides) &&
            !grow(plan, nearest_axis(plan), &n_sides))
            return;
    }
}

/* ---- words ---- */

/* Chooses the units of a side's word; FALSE if they are not contiguous. */
static gboolean
choose_group(Plan *plan, Side side)
{
    guint left = plan->group_bits;
    gint64 stride = plan->unit;
    for (guint i = 0; left > 0 && i < plan->n_axes; i++) {
        Axis *axis = &plan->axes[plan->order[side][i]];
        if (axis->stride[side] != stride || axis->bits == 0)
            return FALSE;
        axis->group_bits[side] = MIN(left, axis->bits);
        left -= axis->group_bits[side];
        if (left > 0 && (gint64)1 << axis->bits != axis->length)
            return FALSE;
        stride *= axis->length;
    }
    return left == 0;
}

/* The address at which the side's tile 0 begins. */
static guint64
side_begin(const Plan *plan, Side side)
{
    guint64 place = plan->base[side];
    for (guint a = 0; a < plan->n_axes; a++)
        place -= (guint64)(plan->axes[a].first * plan->axes[a].stride[side]);
    return place;
}

/* Whether all words of the side are aligned. */
static gboolean
is_aligned(const Plan *plan, Side side)
{
    guint64 places = side_begin(plan, side);
    for (guint a = 0; a < plan->n_axes; a++)
        if (plan->axes[a].group_bits[side] == 0)
            places |= (guint64)plan->axes[a].stride[side];
    return places % ((guint64)plan->unit << plan->group_bits) == 0;
}

/* The number of units before axis `a`'s first at which tiles should begin, so that the side's runs
 * begin at lines, or at the largest part of a line that allows it for all runs. */
static gint64
units_before(const Plan *plan, Side side, gint a)
{
    const gint64 stride = plan->axes[a].stride[side];
    guint64 places = (guint64)stride << plan->axes[a].bits;
    for (guint i = 0; i < plan->n_axes; i++)
        if (plan->axes[i].stride[side] > stride)
            places |= (guint64)plan->axes[i].stride[side];
    for (gint64 line = LINE; line > stride; line /= 2) {
        const gint64 rest = (gint64)(plan->base[side] % (guint64)line);
        if (places % (guint64)line == 0 && rest % stride == 0)
            return rest / stride;
    }
    return 0;
}

/* Chooses the beginning of tiles; FALSE if words cannot be aligned. */
static gboolean
align(Plan *plan)
{
    gint64 run;
    const gint cut[N_SIDES] = {next_axis(plan, IN, &run), next_axis(plan, OUT, &run)};
    for (guint attempt = 0; attempt < N_SIDES; attempt++) {
        /* An axis may be cut on both sides: the later side counts. */
        const Side sides[N_SIDES] = {attempt == 0 ? IN : OUT, attempt == 0 ? OUT : IN};
        for (guint i = 0; i < N_SIDES; i++) {
            const gint a = cut[sides[i]];
            if (a >= 0 && plan->axes[a].bits > 0)
                plan->axes[a].first = units_before(plan, sides[i], a);
        }
        if (is_aligned(plan, IN) && is_aligned(plan, OUT))
            return TRUE;
    }
    return FALSE;
}

static gboolean
choose_words(Plan *plan)
{
    for (guint a = 0; a < plan->n_axes; a++) {
        Axis *axis = &plan->axes[a];
        axis->first = 0;
        axis->group_bits[IN] = axis->group_bits[OUT] = 0;
    }
    if (!choose_group(plan, IN) || !choose_group(plan, OUT))
        return FALSE;
    for (guint a = 0; a < plan->n_axes; a++)
        if (plan->axes[a].group_bits[IN] && plan->axes[a].group_bits[OUT])
            return FALSE;
    return align(plan);
}

/* ---- parameters of the kernel ---- */

/* The offset in bytes of word `i` of a tile in shared memory. Words are assigned to banks in turn,
 * in an order that differs between rows of banks and follows from the higher bits, so that neither
 * neighbours in the input nor neighbours in the output share a bank. */
static guint
shared_place(const Plan *plan, guint i)
{
    const guint bytes = 1u << (plan->unit_bits + plan->group_bits);
    const guint per_bank = bytes < 4 ? 4 / bytes : 1;
    const guint row = 128 / bytes, banks = row / per_bank;
    const guint above = i / row ^ i / (row * banks) ^ i / (row * banks * banks);
    return (i ^ above % banks * per_bank) * bytes;
}

/* The bits of a side's loop: over the input's words, or over the output's squares. */
static guint
walk_bits(const Plan *plan, Side side, Bit *bits)
{
    guint n = 0;
    for (guint i = 0; i < plan->n_axes; i++) {
        const guint a = plan->order[side][i];
        const Axis *axis = &plan->axes[a];
        for (guint bit = axis->group_bits[IN] + (side == OUT ? axis->group_bits[OUT] : 0);
             bit < axis->bits; bit++)
            bits[n++] = (Bit){a, bit};
    }
    return n;
}

/* In shared memory, words are in the order of the input. */
static guint
bit_shared(const Plan *plan, Bit bit)
{
    Bit words[32];
    const guint n = walk_bits(plan, IN, words);
    for (guint i = 0; i < n; i++)
        if (words[i].axis == bit.axis && words[i].bit == bit.bit)
            return shared_place(plan, 1u << i);
    g_assert_not_reached();
}

static gint64
bit_stride(const Plan *plan, Side side, Bit bit)
{
    return plan->axes[bit.axis].stride[side] << bit.bit;
}

static void
set_walk(TurnWalk *walk, const Plan *plan, Side side)
{
    Bit bits[32];
    const guint n = walk_bits(plan, side, bits), n_thread_bits = MIN(n, plan->thread_bits);
    walk->n_threads = 1u << n_thread_bits;
    walk->n_rounds = 1u << (n - n_thread_bits);
    for (guint b = 0; b < n; b++) {
        const gint64 stride = bit_stride(plan, side, bits[b]);
        const guint shared = bit_shared(plan, bits[b]);
        if (b < n_thread_bits) {
            walk->thread_bits[b] = stride;
            walk->thread_bits_shared[b] = shared;
            continue;
        }
        const guint first = 1u << (b - n_thread_bits);
        for (guint round = 0; round < first; round++) {
            walk->rounds[first | round] = walk->rounds[round] + stride;
            walk->rounds_shared[first | round] = walk->rounds_shared[round] ^ shared;
        }
    }
    for (guint a = 0; a < plan->n_axes; a++) {
        const Axis *axis = &plan->axes[a];
        const gboolean in_words = axis->group_bits[IN] > 0;
        const gboolean out_words = side == OUT && axis->group_bits[OUT] > 0;
        const guint skipped = axis->group_bits[IN] + (side == OUT ? axis->group_bits[OUT] : 0);
        guint shift = 0;
        if (axis->edge < 0)
            continue;
        while (shift < n && bits[shift].axis != a)
            shift++;
        walk->indices[walk->n_indices++] = (TurnIndex){
            .edge = axis->edge,
            .shift = shift,
            .mask = (1u << (axis->bits - skipped)) - 1,
            .kind = in_words    ? TURN_IN_WORDS
                    : out_words ? TURN_OUT_WORDS
                                : TURN_UNITS,
            .per_unit = 1 << (plan->group_bits - skipped),
        };
    }
}

static void
set_groups(Turn *turn, const Plan *plan)
{
    guint in_bit = 0, out_bit = 0;
    for (guint i = 0; i < plan->n_axes; i++) {
        const guint a = plan->order[IN][i], b = plan->order[OUT][i];
        for (guint bit = 0; bit < plan->axes[a].group_bits[IN]; bit++, in_bit++)
            for (guint k = 0; k < 1u << in_bit; k++)
                turn->in_group[k | 1u << in_bit] =
                    turn->in_group[k] + bit_stride(plan, OUT, (Bit){a, bit});
        for (guint bit = 0; bit < plan->axes[b].group_bits[OUT]; bit++, out_bit++)
            for (guint k = 0; k < 1u << out_bit; k++)
                turn->out_group[k | 1u << out_bit] =
                    turn->out_group[k] ^ bit_shared(plan, (Bit){b, bit});
    }
}

/* Sets the tiles along each axis, the fastest of the output first; FALSE if there are too many for
 * a launch. */
static gboolean
set_tiles(Turn *turn, Plan *plan, guint *n_tiles)
{
    gint64 n = 1;
    gint n_edges = 0;
    for (guint i = 0; i < plan->n_axes; i++) {
        Axis *axis = &plan->axes[plan->order[OUT][i]];
        const gint64 end = axis->first + axis->length, tile = (gint64)1 << axis->bits;
        if (end > G_MAXINT32 - tile)
            return FALSE;
        const gint64 tiles = (end + tile - 1) >> axis->bits;
        if (tiles > G_MAXINT32 / n)
            return FALSE;
        n *= tiles;
        axis->edge = tiles * tile == axis->length ? -1 : n_edges++;
        if (tiles > 1 || axis->edge >= 0)
            turn->axes[turn->n_axes++] = (TurnAxis){
                .tiles = ct_device_divisor((guint32)tiles),
                .edge = axis->edge,
                .tile = (guint)tile,
                .first = (guint)axis->first,
                .end = (guint)end,
                .in = axis->stride[IN] * tile,
                .out = axis->stride[OUT] * tile,
            };
    }
    *n_tiles = (guint)n;
    return TRUE;
}

/* Chooses the widest existing form of these units that fits. */
static gboolean
choose_form(Plan *plan, const TurnForms *forms)
{
    for (guint group_bits = TURN_GROUPS_OF; group_bits-- > 0;) {
        plan->group_bits = group_bits;
        if (!forms->has[plan->unit_bits][group_bits])
            continue;
        plan->thread_bits = forms->thread_bits;
        choose_tile(plan, MIN(forms->tile_bits - plan->unit_bits,
                              ROUND_BITS + forms->thread_bits + group_bits));
        if (choose_words(plan))
            return TRUE;
    }
    return FALSE;
}

static gboolean
is_worthwhile(const CtBox *box, gint64 bytes)
{
    const CtBoxAxis *fastest = box->n_axes > 0 ? &box->axes[box->n_axes - 1] : NULL;
    return box->n_axes >= 2 && box->n_axes <= TURN_AXES &&
           !(fastest->in == bytes && fastest->out == bytes && fastest->length * bytes >= LONG_RUN);
}

gboolean
turn_plan(Turn *turn, TurnForm *form, guint *n_tiles, const guint8 **in, guint8 **out,
          const CtBox *box, gint64 bytes, const TurnForms *forms)
{
    Plan plan;
    const guint least = log2_of(bytes);
    if (!is_worthwhile(box, bytes))
        return FALSE;
    for (guint unit_bits = TURN_UNITS_OF; unit_bits-- > least;) {
        *turn = (Turn){0};
        if (!set_units(&plan, box, bytes, unit_bits) || !choose_form(&plan, forms) ||
            !set_tiles(turn, &plan, n_tiles))
            continue;
        set_walk(&turn->read, &plan, IN);
        set_walk(&turn->written, &plan, OUT);
        set_groups(turn, &plan);
        *form = (TurnForm){unit_bits, plan.group_bits};
        *in = box->in + ((gint64)side_begin(&plan, IN) - (gint64)plan.base[IN]);
        *out = box->out + ((gint64)side_begin(&plan, OUT) - (gint64)plan.base[OUT]);
        return TRUE;
    }
    return FALSE;
}
