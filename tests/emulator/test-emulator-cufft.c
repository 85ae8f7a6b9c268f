/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator's cuFFT against sums: all types, and many lengths and strides. */
#include "emulator-test.h"

#include <complex.h>

enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, Z2Z = 0x69, D2Z = 0x6a, Z2D = 0x6c };

static struct {
    int (*version)(int *version);
    int (*create)(int *plan);
    int (*destroy)(int plan);
    int (*set_auto_allocation)(int plan, int automatic);
    int (*make_plan)(int plan, int rank, long long *n, long long *in_embed, long long in_stride,
                     long long in_apart, long long *out_embed, long long out_stride,
                     long long out_apart, int type, long long batch, size_t *work_bytes);
    int (*set_work_area)(int plan, void *area);
    int (*set_stream)(int plan, CtCuStream stream);
    int (*c2c)(int plan, void *in, void *out, int direction);
    int (*z2z)(int plan, void *in, void *out, int direction);
    int (*r2c)(int plan, void *in, void *out);
    int (*d2z)(int plan, void *in, void *out);
    int (*c2r)(int plan, void *in, void *out);
    int (*z2d)(int plan, void *in, void *out);
} cufft;

static const char *const symbols[] = {
    "cufftGetVersion",     "cufftCreate",      "cufftDestroy",   "cufftSetAutoAllocation",
    "cufftMakePlanMany64", "cufftSetWorkArea", "cufftSetStream", "cufftExecC2C",
    "cufftExecZ2Z",        "cufftExecR2C",     "cufftExecD2Z",   "cufftExecC2R",
    "cufftExecZ2D",
};

static gboolean
begin(void)
{
    const char *reason;
    if (!emulator_test_begin())
        return FALSE;
    if (!ct_cuda_library("cufft", symbols, G_N_ELEMENTS(symbols), (gpointer *)&cufft, &reason))
        g_error("%s", reason);
    return TRUE;
}

/* The layout of input or output: real or complex, float or double. */
typedef struct {
    gboolean is_complex, is_double;
    gsize n, stride, apart;
} Side;

static gsize
element_bytes(const Side *side)
{
    return (side->is_double ? 8 : 4) * (side->is_complex ? 2 : 1);
}

static complex double
get(const Side *side, const guint8 *data, gsize batch, gsize i)
{
    const guint8 *at = data + (batch * side->apart + i * side->stride) * element_bytes(side);
    if (side->is_double)
        return ((const double *)at)[0] + (side->is_complex ? I * ((const double *)at)[1] : 0);
    return ((const float *)at)[0] + (side->is_complex ? I * ((const float *)at)[1] : 0);
}

/* Element i of a transform; the second half of a real signal's spectrum mirrors the first. */
static complex double
get_whole(const Side *side, const guint8 *data, gsize n, gsize batch, gsize i)
{
    return i < side->n ? get(side, data, batch, i) : conj(get(side, data, batch, n - i));
}

static int
execute(int plan, int type, CtCuAddress in, CtCuAddress out, int direction)
{
    gpointer from = (gpointer)in, to = (gpointer)out;
    switch (type) {
    case C2C:
        return cufft.c2c(plan, from, to, direction);
    case Z2Z:
        return cufft.z2z(plan, from, to, direction);
    case R2C:
        return cufft.r2c(plan, from, to);
    case D2Z:
        return cufft.d2z(plan, from, to);
    case C2R:
        return cufft.c2r(plan, from, to);
    default:
        return cufft.z2d(plan, from, to);
    }
}

static void
check(int type, long long n, long long batch, gboolean strided, int direction)
{
    const gboolean to_real = type == C2R || type == Z2D, from_real = type == R2C || type == D2Z;
    Side in = {!from_real, (type & 0x40) != 0, (gsize)(to_real ? n / 2 + 1 : n), 1, 0};
    Side out = {!to_real, (type & 0x40) != 0, (gsize)(from_real ? n / 2 + 1 : n), 1, 0};
    in.stride = strided ? 3 : 1;
    in.apart = strided ? 3 * in.n + 2 : in.n;
    out.stride = strided ? (gsize)batch : 1;
    out.apart = strided ? 1 : out.n;
    const gsize in_bytes = ((gsize)batch * in.apart + 2) * element_bytes(&in);
    const gsize out_bytes = (gsize)batch * out.n * element_bytes(&out);
    g_autofree guint8 *x = g_malloc(in_bytes), *y = g_malloc(out_bytes);
    for (gsize i = 0; i < in_bytes / (in.is_double ? 8 : 4); i++)
        if (in.is_double)
            ((double *)x)[i] = g_test_rand_double_range(-1, 1);
        else
            ((float *)x)[i] = (float)g_test_rand_double_range(-1, 1);
    /* Imaginary parts that no real signal's spectrum has are set to zero. */
    const gsize imaginary[] = {1, 2 * in.stride * (gsize)(n / 2) + 1};
    for (gsize b = 0; to_real && b < (gsize)batch; b++)
        for (gsize i = 0; i < (n % 2 ? 1 : 2); i++)
            memset(x + (2 * b * in.apart + imaginary[i]) * element_bytes(&in) / 2, 0,
                   element_bytes(&in) / 2);

    int plan;
    size_t work_bytes;
    long long length = n;
    CtCuStream stream;
    CtCuAddress from, to, work;
    succeed(cu->stream_create(&stream, CT_CU_STREAM_NON_BLOCKING));
    succeed(cufft.create(&plan));
    succeed(cufft.set_auto_allocation(plan, 0));
    succeed(cufft.make_plan(plan, 1, &length, strided ? &length : NULL, (long long)in.stride,
                            (long long)in.apart, strided ? &length : NULL, (long long)out.stride,
                            (long long)out.apart, type, batch, &work_bytes));
    succeed(cufft.set_stream(plan, stream));
    succeed(cu->alloc(&from, in_bytes));
    succeed(cu->alloc(&to, out_bytes));
    fail_with(4, execute(plan, type, from, to, direction)); /* it has no work area */
    succeed(cu->alloc(&work, work_bytes));
    succeed(cufft.set_work_area(plan, (gpointer)work));
    fail_with(4, execute(plan, type, from + 1, to, direction));
    fail_with(4, execute(plan, type, from, to + out_bytes - 8, direction));
    fail_with(3, execute(plan, type == C2C ? Z2Z : C2C, from, to, direction));
    succeed(cu->copy(from, (CtCuAddress)x, in_bytes, stream));
    succeed(execute(plan, type, from, to, direction));
    succeed(cu->copy((CtCuAddress)y, to, out_bytes, stream));
    succeed(cufft.destroy(plan));
    fail_with(1, cufft.destroy(plan));
    succeed(cu->free(from));
    succeed(cu->free(to));
    succeed(cu->free(work));
    succeed(cu->stream_destroy(stream));

    const double sign = to_real ? 1 : from_real ? -1 : direction;
    const double epsilon = (out.is_double ? 1e-15 : 1e-7) * (double)n;
    for (gsize b = 0; b < (gsize)batch; b++)
        for (gsize k = 0; k < out.n; k++) {
            complex double sum = 0;
            for (gsize j = 0; j < (gsize)n; j++)
                sum += get_whole(&in, x, (gsize)n, b, j) *
                       cexp(sign * 2 * G_PI * I * (double)(j * k % (gsize)n) / (double)n);
            g_assert_cmpfloat(cabs(get(&out, y, b, k) - (to_real ? creal(sum) : sum)), <, epsilon);
        }
}

static void
test_all(void)
{
    if (!begin())
        return;
    static const int types[] = {C2C, Z2Z, R2C, D2Z, C2R, Z2D};
    static const long long lengths[] = {1, 2, 3, 8, 12, 17, 30, 64, 77, 128};
    int version;
    succeed(cufft.version(&version));
    for (guint t = 0; t < G_N_ELEMENTS(types); t++)
        for (guint l = 0; l < G_N_ELEMENTS(lengths); l++)
            check(types[t], lengths[l], 3, (t + l) % 2, l % 3 ? -1 : 1);
    emulator_test_end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/emulator-cufft/all", test_all);
    return g_test_run();
}
