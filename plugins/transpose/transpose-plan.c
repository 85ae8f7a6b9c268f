/* SPDX-License-Identifier: BSD-3-Clause */
/* Simplifies a strided copy and cuts it into tiles. */
#include "transpose-kernels.h"

/* Side B takes no further axis of the output once it has this many contiguous bytes. */
#define RUN_ENOUGH 512
/* Contiguous bytes of whole lines that side B has at least. */
#define RUN_LEAST 256
/* Bytes of a tile below which its overhead matters. */
#define LEAST_BYTES 16384
#define LINE        64

static size_t
minimum(size_t x, size_t y)
{
    return x < y ? x : y;
}

static size_t
maximum(size_t x, size_t y)
{
    return x > y ? x : y;
}

static size_t
magnitude(ptrdiff_t stride)
{
    return stride < 0 ? -(size_t)stride : (size_t)stride;
}

/* Copies `axes` without those of length 1, slowest of the output first, and merges neighbours that
 * are one axis on both sides. */
static void
simplify(TransposePlan *plan, const TransposeAxis *axes, unsigned n_axes)
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_axes; i++) {
        if (axes[i].length == 1)
            continue;
        unsigned j = n++;
        for (; j > 0 && magnitude(plan->axis[j - 1].out) < magnitude(axes[i].out); j--)
            plan->axis[j] = plan->axis[j - 1];
        plan->axis[j] = axes[i];
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        const TransposeAxis fast = plan->axis[i];
        TransposeAxis *slow = kept ? &plan->axis[kept - 1] : NULL;
        if (slow && slow->in == (ptrdiff_t)fast.length * fast.in &&
            slow->out == (ptrdiff_t)fast.length * fast.out)
            *slow = (TransposeAxis){slow->length * fast.length, fast.in, fast.out};
        else
            plan->axis[kept++] = fast;
    }
    plan->n_axes = kept;
}

/* Merges the fastest axis into the element while it is contiguous on both sides. */
static void
widen(TransposePlan *plan)
{
    if (!plan->n_axes)
        return;
    const TransposeAxis *last = &plan->axis[plan->n_axes - 1];
    if (last->in == (ptrdiff_t)plan->element && last->out == (ptrdiff_t)plan->element) {
        plan->element *= last->length;
        plan->n_axes--;
    }
}

/* The part of an axis of `length` for a tile with room for `room` elements: all, or about equal
 * parts in multiples of `unit`. */
static size_t
part(size_t length, size_t room, size_t unit)
{
    if (length <= room)
        return length;
    room = maximum(room / unit * unit, 1);
    const size_t parts = (length + room - 1) / room;
    const size_t even = (length + parts - 1) / parts;
    return minimum((even + unit - 1) / unit * unit, room);
}

/* The axis outside `seen` with stride `stride` in the input, or n_axes. */
static unsigned
find_in(const TransposePlan *plan, ptrdiff_t stride, unsigned long long seen)
{
    unsigned i = 0;
    while (i < plan->n_axes && (plan->axis[i].in != stride || seen >> i & 1))
        i++;
    return i;
}

/* The axis outside `seen` with the shortest stride in the input, or n_axes. */
static unsigned
find_nearest(const TransposePlan *plan, unsigned long long seen)
{
    unsigned nearest = plan->n_axes;
    for (unsigned i = 0; i < plan->n_axes; i++)
        if (!(seen >> i & 1) && (nearest == plan->n_axes ||
                                 magnitude(plan->axis[i].in) < magnitude(plan->axis[nearest].in)))
            nearest = i;
    return nearest;
}

/* The first contiguous axes of the input, as bits, until they hold `bytes`. */
static unsigned long long
leading_in(const TransposePlan *plan, size_t bytes)
{
    unsigned long long axes = 0;
    for (size_t span = plan->element; span < bytes;) {
        const unsigned i = find_in(plan, (ptrdiff_t)span, axes);
        if (i == plan->n_axes)
            break;
        axes |= 1ull << i;
        span *= plan->axis[i].length;
    }
    return axes;
}

/* The most elements of side B: as many as leave room for long runs of the input, where it has them,
 * but not so few that the runs of the output become short, above all if these begin within lines.
 */
static size_t
room_b(const TransposePlan *plan, const TransposeTuning *tuning)
{
    const unsigned i = find_in(plan, (ptrdiff_t)plan->element, 0);
    const size_t length = i < plan->n_axes ? plan->axis[i].length : 1;
    const size_t run = minimum(length * plan->element, maximum(tuning->run_in, 1));
    bool lines = true;
    for (unsigned j = 0; j < plan->n_axes; j++)
        lines &= magnitude(plan->axis[j].out) < RUN_LEAST || plan->axis[j].out % LINE == 0;
    const size_t bytes =
        maximum(tuning->tile / run * plan->element, lines ? RUN_LEAST : RUN_ENOUGH);
    return minimum(maximum(minimum(bytes, tuning->run_out) / plan->element, 1), TRANSPOSE_MAX_B);
}

/* Chooses side B: contiguous axes of the output, up to those that side A needs for whole vectors
 * or, past a line, for long runs. Returns the number of its elements. */
static size_t
choose_side_b(TransposePlan *plan, const TransposeTuning *tuning)
{
    const size_t element = plan->element;
    const size_t unit = maximum(LINE / element, 1);
    const size_t room = room_b(plan, tuning);
    const unsigned long long vector = leading_in(plan, 16), run = leading_in(plan, tuning->run_in);
    size_t length = 1;
    for (unsigned i = plan->n_axes; i-- > 0 && length * element < RUN_ENOUGH;) {
        const bool first = plan->axis[i].in == (ptrdiff_t)element;
        const bool wanted =
            plan->n_b && ((vector >> i & 1) || ((run >> i & 1) && length * element >= LINE));
        if (first || wanted || plan->axis[i].out != (ptrdiff_t)(element * length) ||
            room / length < 2)
            break;
        plan->b[plan->n_b++] = i;
        plan->tile[i] = part(plan->axis[i].length, room / length, length == 1 ? unit : 1);
        length *= plan->tile[i];
        if (plan->tile[i] < plan->axis[i].length)
            break;
    }
    plan->packed = plan->n_b > 0;
    if (!plan->n_b) {
        const unsigned i = plan->n_axes - 1;
        plan->b[plan->n_b++] = i;
        plan->tile[i] = length = part(plan->axis[i].length, room, unit);
    }
    return length;
}

/* The axis that continues the runs of the output, if neither side has it; otherwise n_axes. *run is
 * the number of elements of these runs. */
static unsigned
find_out(const TransposePlan *plan, size_t *run)
{
    *run = 1;
    for (unsigned i = plan->n_axes; i-- > 0;) {
        if (plan->axis[i].out != (ptrdiff_t)(plan->element * *run))
            break;
        if (!transpose_holds(plan->a, plan->n_a, i) && !transpose_holds(plan->b, plan->n_b, i))
            return i;
        *run *= plan->tile[i];
        if (plan->tile[i] < plan->axis[i].length)
            break;
    }
    return plan->n_axes;
}

/* Side A: the contiguous axes of the input that side B has not taken, until the tile reads long
 * runs; then the axis that makes it write long runs, and any others until it is worth its
 * overhead. Returns the last of the first kind, or n_axes. */
static unsigned
choose_sides(TransposePlan *plan, const TransposeTuning *tuning)
{
    const size_t element = plan->element;
    const size_t unit = maximum(LINE / element, 1);
    const size_t length = choose_side_b(plan, tuning);
    const size_t whole = (length + unit - 1) / unit * unit; /* as in a pack */
    const size_t most = minimum(maximum(tuning->tile / element / whole, 1), TRANSPOSE_MAX_A);
    const size_t least = minimum(maximum(LEAST_BYTES / element / length, 1), most);
    const size_t run = maximum(tuning->run_in / element, 1);
    const size_t enough = maximum(RUN_ENOUGH / element, 1);
    size_t span = 1, count = 1;
    unsigned long long seen = 0;
    unsigned fastest = plan->n_axes;
    bool unbroken = true, chained = true;
    plan->segment = 0;
    while (count < most) {
        size_t written, room;
        const unsigned out = find_out(plan, &written);
        const bool extends = plan->packed && out < plan->n_axes && written < enough;
        unsigned i = chained ? find_in(plan, (ptrdiff_t)(element * span), seen) : plan->n_axes;
        chained = i < plan->n_axes && (span < run || (count < least && !extends));
        if (chained) {
            /* Leaves room for the other axis. */
            const size_t times = extends && i != out ? (enough + written - 1) / written : 1;
            room = maximum(run / span, (times > 1 ? most : least) / count / times);
            fastest = i;
        } else if (extends) {
            i = out;
            room = (enough + written - 1) / written;
        } else {
            i = find_nearest(plan, seen);
            if (count >= least || i == plan->n_axes)
                break;
            room = least / count;
        }
        seen |= 1ull << i;
        if (transpose_holds(plan->b, plan->n_b, i)) {
            unbroken = false;
        } else {
            plan->a[plan->n_a++] = i;
            plan->tile[i] = part(plan->axis[i].length, minimum(maximum(room, 1), most / count),
                                 count == 1 ? unit : 1);
            count *= plan->tile[i];
            unbroken &= chained;
            if (unbroken)
                plan->segment = count;
        }
        span *= plan->tile[i];
        chained &= plan->tile[i] == plan->axis[i].length;
    }
    return fastest;
}

/* Makes an axis the fastest, so that consecutive tiles are neighbours in the input. */
static void
choose_order(TransposePlan *plan, unsigned fastest)
{
    unsigned n = 0;
    for (unsigned i = 0; i < plan->n_axes; i++)
        if (i != fastest)
            plan->order[n++] = i;
    if (fastest < plan->n_axes)
        plan->order[n] = fastest;
}

/* Vectors transpose contiguous elements of 1 to 16 bytes; all others are copied one by one. */
static bool
can_turn(const TransposePlan *plan)
{
    bool can = plan->packed && plan->element <= 16 && !(plan->element & (plan->element - 1));
    for (unsigned i = 0; i < plan->n_axes; i++)
        can = can && plan->axis[i].in >= 0;
    return can;
}

void
transpose_plan(TransposePlan *plan, size_t element, const TransposeAxis *axes, unsigned n_axes,
               bool stream, const TransposeTuning *tuning)
{
    *plan = (TransposePlan){.element = element, .stream = stream};
    for (unsigned i = 0; i < n_axes; i++)
        if (axes[i].length == 0)
            plan->element = 0;
    if (!plan->element)
        return;
    simplify(plan, axes, n_axes);
    widen(plan);
    if (!plan->n_axes)
        return;
    for (unsigned i = 0; i < plan->n_axes; i++)
        plan->tile[i] = 1;
    const unsigned fastest = choose_sides(plan, tuning);
    if (!can_turn(plan))
        plan->segment = 0;
    choose_order(plan, fastest);
}
