/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's own kernels: they compile for every architecture, and rows of bytes go where they
 * shall. */
#include "../core/mover.h"
#include "device-test.h"
#include "kernel-test.h"

/* ---- compiling ---- */

static void
test_compile(void)
{
    static const struct {
        const char *source, *name, *defines[2];
    } kernels[] = {
        {"fill.cu", "ct_fill_invalid", {NULL}},       {"move.cu", "ct_move_rows", {NULL}},
        {"random.cu", "ct_fill_random", {"KIND=1"}},  {"random.cu", "ct_fill_random", {"KIND=2"}},
        {"random.cu", "ct_fill_random", {"KIND=4"}},  {"random.cu", "ct_fill_random", {"KIND=8"}},
        {"random.cu", "ct_fill_random", {"KIND=-2"}}, {"random.cu", "ct_fill_random", {"KIND=-4"}},
        {"random.cu", "ct_fill_random", {"KIND=-8"}},
    };
    if (!kernel_test_can())
        return;
    for (guint k = 0; k < G_N_ELEMENTS(kernels); k++) {
        g_autofree char *source = g_strdup_printf("/cornerturn/kernel/%s", kernels[k].source);
        const CtKernelSpec spec = {
            .name = kernels[k].name, .source = source, .defines = kernels[k].defines};
        for (guint a = 0; a < G_N_ELEMENTS(kernel_test_architectures); a++) {
            g_autoptr(CtDevice) device = ct_device_new_dry(kernel_test_architectures[a]);
            g_autoptr(GError) error = NULL;
            CtKernel *kernel = ct_kernel_new(device, &spec, &error);
            g_assert_no_error(error);
            ct_kernel_free(kernel);
        }
    }
}

/* ---- moving ---- */

#define N_CASES 200
#define BYTES   (1 << 18)

static guint64
random_below(guint64 n)
{
    return (guint64)g_test_rand_int_range(0, (gint32)n);
}

/* Rows within the first half of the memory, that go to piece `m` of the second: of whatever
 * alignment, or all of one, and from few long rows to many short ones. */
static CtMove
random_move(guint8 *memory, guint m)
{
    const guint64 unit = (guint64)1 << random_below(6), most = BYTES / 8 / unit;
    const guint64 piece = BYTES / 4;
    guint8 *to = memory + BYTES / 2 + m * piece;
    CtMove move = {.bytes = random_below(8) ? random_below(most / 8) * unit : most * unit};
    move.to_pitch = move.bytes + random_below(9) * unit;
    move.from_pitch = move.bytes + random_below(9) * unit;
    const guint64 rows = (piece - 64) / MAX(1, MAX(move.to_pitch, move.from_pitch));
    move.rows = random_below(4) ? random_below(MIN(rows, 40) + 1) : rows;
    move.to = to + random_below(64 / unit) * unit;
    move.from = memory + m * piece + random_below(64 / unit) * unit;
    return move;
}

static void
expect(guint8 *expected, const guint8 *memory, const CtMove *move)
{
    for (guint64 r = 0; r < move->rows; r++)
        memcpy(expected + (move->to - memory) + r * move->to_pitch,
               expected + (move->from - memory) + r * move->from_pitch, move->bytes);
}

static void
check_moves(gboolean by_kernel)
{
    const char *reason;
    if (ct_devices(NULL, &reason) == 0) {
        g_test_skip(reason);
        return;
    }
    const CtPrepare prepare = {0};
    DeviceTest test;
    device_test_begin(&test, &prepare);
    g_autoptr(GError) error = NULL;
    CtKernel *kernel = by_kernel ? ct_mover_kernel_new(device_test_device(), &error) : NULL;
    g_assert_no_error(error);
    const CtMover mover = {test.queue, kernel};
    guint8 *memory = device_test_alloc(BYTES);
    g_autofree guint8 *expected = g_malloc(BYTES), *got = g_malloc(BYTES);

    for (guint i = 0; i < N_CASES; i++) {
        for (guint b = 0; b < BYTES; b += 4)
            memcpy(expected + b, &(guint32){(guint32)g_test_rand_int()}, 4);
        device_test_copy(memory, expected, BYTES);
        CtMoves moves = {.n = (guint)random_below(CT_MAX_MOVES + 1)};
        for (guint m = 0; m < moves.n; m++) {
            moves.moves[m] = random_move(memory, m);
            expect(expected, memory, &moves.moves[m]);
        }
        ct_mover_move(&mover, &moves, &error);
        g_assert_no_error(error);
        device_test_wait(&test);
        device_test_copy(got, memory, BYTES);
        for (guint b = 0; b < BYTES; b++)
            if (got[b] != expected[b])
                g_error("case %u: byte %u is %u, not %u", i, b, got[b], expected[b]);
    }
    ct_device_free(device_test_device(), memory);
    ct_kernel_free(kernel);
    device_test_end(&test);
}

static void
test_kernel(void)
{
    check_moves(TRUE);
}

static void
test_driver(void)
{
    check_moves(FALSE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core-kernels/kernels", test_compile);
    g_test_add_func("/core-kernels/move", test_kernel);
    g_test_add_func("/core-kernels/move-by-driver", test_driver);
    return g_test_run();
}
