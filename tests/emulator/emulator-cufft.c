/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator's cuFFT: batches of transforms along one axis, in double precision for all types.
 * Inputs and results pass through the work area, so that two streams which share one are
 * noticed. */
#include "emulator-fourier.h"
#include "emulator.h"

#include <string.h>

typedef int CufftHandle;
typedef int CufftResult;

enum {
    CUFFT_INVALID_PLAN = 1,
    CUFFT_INVALID_TYPE = 3,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_INVALID_SIZE = 8,
    CUFFT_NOT_SUPPORTED = 16,

    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_C2C = 0x29,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c,
    CUFFT_Z2Z = 0x69,
};

#define CUFFT_FUNCTIONS(F)                                                                         \
    F(, cufftGetVersion, (int *version))                                                           \
    F(, cufftCreate, (CufftHandle * handle))                                                       \
    F(, cufftDestroy, (CufftHandle handle))                                                        \
    F(, cufftSetAutoAllocation, (CufftHandle handle, int automatic))                               \
    F(, cufftMakePlanMany64,                                                                       \
      (CufftHandle handle, int rank, long long *n, long long *in_embed, long long in_stride,       \
       long long in_apart, long long *out_embed, long long out_stride, long long out_apart,        \
       int type, long long batch, size_t *work_bytes))                                             \
    F(, cufftSetWorkArea, (CufftHandle handle, void *work_area))                                   \
    F(, cufftSetStream, (CufftHandle handle, CtCuStream stream))                                   \
    F(, cufftExecC2C, (CufftHandle handle, void *in, void *out, int direction))                    \
    F(, cufftExecZ2Z, (CufftHandle handle, void *in, void *out, int direction))                    \
    F(, cufftExecR2C, (CufftHandle handle, void *in, void *out))                                   \
    F(, cufftExecD2Z, (CufftHandle handle, void *in, void *out))                                   \
    F(, cufftExecC2R, (CufftHandle handle, void *in, void *out))                                   \
    F(, cufftExecZ2D, (CufftHandle handle, void *in, void *out))
CUFFT_FUNCTIONS(EMULATOR_DECLARE)

/* Input or output: its elements are `stride` apart, its transforms `apart`. */
typedef struct {
    gboolean is_complex, is_double;
    size_t n; /* elements of a transform */
    size_t stride, apart;
} Side;

typedef struct {
    EmulatorFourier *fourier; /* NULL: no plan yet */
    size_t n, batch;
    int type;
    Side in, out;
    gboolean automatic;
    void *own_work, *work;
    CtCuStream stream;
} Plan;

typedef struct {
    Operation operation;
    Plan plan;
    const guint8 *in;
    guint8 *out;
    int sign;
} Execution;

static struct {
    pthread_mutex_t lock;
    GPtrArray *plans; /* of Plan; handle h is at index h - 1; guarded by lock */
} table = {PTHREAD_MUTEX_INITIALIZER, NULL};

static Plan *
plan_of(CufftHandle handle)
{
    pthread_mutex_lock(&table.lock);
    Plan *plan = table.plans && handle > 0 && (guint)handle <= table.plans->len
                     ? table.plans->pdata[handle - 1]
                     : NULL;
    pthread_mutex_unlock(&table.lock);
    return plan;
}

static size_t
element_bytes(const Side *side)
{
    return (side->is_double ? sizeof(double) : sizeof(float)) * (side->is_complex ? 2 : 1);
}

/* The bytes from the first element to the last of all transforms. */
static size_t
side_bytes(const Side *side, size_t batch)
{
    return ((side->n - 1) * side->stride + (batch - 1) * side->apart + 1) * element_bytes(side);
}

static size_t
work_bytes(const Plan *plan)
{
    return 2 * plan->n * sizeof(EmulatorComplex);
}

/* ---- execution ---- */

static double
get(const Side *side, const guint8 *at)
{
    if (side->is_double)
        return *(const double *)at;
    return *(const float *)at;
}

static void
put(const Side *side, guint8 *at, double value)
{
    if (side->is_double)
        *(double *)at = value;
    else
        *(float *)at = (float)value;
}

/* For real results, the second half of the spectrum mirrors the first. */
static void
read_side(const Plan *plan, const guint8 *from, EmulatorComplex *x)
{
    const Side *side = &plan->in;
    const size_t bytes = element_bytes(side);
    for (size_t i = 0; i < side->n; i++) {
        const guint8 *at = from + i * side->stride * bytes;
        x[i] = (EmulatorComplex){get(side, at), side->is_complex ? get(side, at + bytes / 2) : 0};
    }
    for (size_t i = side->n; i < plan->n; i++)
        x[i] = (EmulatorComplex){x[plan->n - i].re, -x[plan->n - i].im};
}

static void
write_side(const Plan *plan, const EmulatorComplex *x, guint8 *to)
{
    const Side *side = &plan->out;
    const size_t bytes = element_bytes(side);
    for (size_t i = 0; i < side->n; i++) {
        guint8 *at = to + i * side->stride * bytes;
        put(side, at, x[i].re);
        if (side->is_complex)
            put(side, at + bytes / 2, x[i].im);
    }
}

static void
run_execution(Operation *operation, G_GNUC_UNUSED Stream *stream)
{
    const Execution *execution = (const Execution *)operation;
    const Plan *plan = &execution->plan;
    EmulatorComplex *x = plan->work, *y = x + plan->n;
    for (size_t b = 0; b < plan->batch; b++) {
        read_side(plan, execution->in + b * plan->in.apart * element_bytes(&plan->in), x);
        if (plan->in.n < plan->n) {
            x[0].im = 0;
            if (plan->n % 2 == 0)
                x[plan->n / 2].im = 0;
        }
        emulator_fourier_run(plan->fourier, execution->sign, x, y);
        write_side(plan, y, execution->out + b * plan->out.apart * element_bytes(&plan->out));
    }
}

static int
execute(const char *symbol, CufftHandle handle, int type, const void *in, void *out, int sign)
{
    const int failure = emulator_injected(symbol, CUFFT_EXEC_FAILED);
    Context *context;
    if (failure || emulator_enter(symbol, &context))
        return CUFFT_EXEC_FAILED;
    const Plan *plan = plan_of(handle);
    if (!plan || !plan->fourier)
        return CUFFT_INVALID_PLAN;
    if (plan->type != type)
        return CUFFT_INVALID_TYPE;
    Stream *stream;
    if (emulator_stream(context, plan->stream, TRUE, &stream))
        return CUFFT_EXEC_FAILED;
    const CtCuAddress from = (CtCuAddress)in, to = (CtCuAddress)out;
    if (emulator_place(from, side_bytes(&plan->in, plan->batch)) != PLACE_DEVICE ||
        emulator_place(to, side_bytes(&plan->out, plan->batch)) != PLACE_DEVICE ||
        from % element_bytes(&plan->in) || to % element_bytes(&plan->out) || !plan->work ||
        (sign != 1 && sign != -1))
        return CUFFT_INVALID_VALUE;
    if (!plan->own_work &&
        emulator_place((CtCuAddress)plan->work, work_bytes(plan)) != PLACE_DEVICE)
        return CUFFT_INVALID_VALUE;
    Execution *execution = g_new(Execution, 1);
    *execution = (Execution){
        .operation = {.run = run_execution}, .plan = *plan, .in = in, .out = out, .sign = sign};
    emulator_enqueue(stream, &execution->operation);
    return 0;
}

int
cufftExecC2C(CufftHandle handle, void *in, void *out, int direction)
{
    return execute(__func__, handle, CUFFT_C2C, in, out, direction);
}

int
cufftExecZ2Z(CufftHandle handle, void *in, void *out, int direction)
{
    return execute(__func__, handle, CUFFT_Z2Z, in, out, direction);
}

int
cufftExecR2C(CufftHandle handle, void *in, void *out)
{
    return execute(__func__, handle, CUFFT_R2C, in, out, -1);
}

int
cufftExecD2Z(CufftHandle handle, void *in, void *out)
{
    return execute(__func__, handle, CUFFT_D2Z, in, out, -1);
}

int
cufftExecC2R(CufftHandle handle, void *in, void *out)
{
    return execute(__func__, handle, CUFFT_C2R, in, out, 1);
}

int
cufftExecZ2D(CufftHandle handle, void *in, void *out)
{
    return execute(__func__, handle, CUFFT_Z2D, in, out, 1);
}

/* ---- plans ---- */

int
cufftGetVersion(int *version)
{
    *version = 12000;
    return emulator_injected(__func__, CUFFT_EXEC_FAILED);
}

int
cufftCreate(CufftHandle *handle)
{
    const int failure = emulator_injected(__func__, CUFFT_EXEC_FAILED);
    if (failure)
        return failure;
    Plan *plan = g_new0(Plan, 1);
    plan->automatic = TRUE;
    pthread_mutex_lock(&table.lock);
    if (!table.plans)
        table.plans = g_ptr_array_new();
    g_ptr_array_add(table.plans, plan);
    *handle = (CufftHandle)table.plans->len;
    pthread_mutex_unlock(&table.lock);
    emulator_count(EMULATOR_PLAN, 1);
    return 0;
}

int
cufftDestroy(CufftHandle handle)
{
    Plan *plan = plan_of(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    Context *context;
    if (plan->fourier && emulator_enter(__func__, &context) == 0)
        emulator_context_wait(context);
    pthread_mutex_lock(&table.lock);
    table.plans->pdata[handle - 1] = NULL;
    pthread_mutex_unlock(&table.lock);
    emulator_fourier_free(plan->fourier);
    g_free(plan->own_work);
    g_free(plan);
    emulator_count(EMULATOR_PLAN, -1);
    return 0;
}

int
cufftSetAutoAllocation(CufftHandle handle, int automatic)
{
    Plan *plan = plan_of(handle);
    if (!plan || plan->fourier)
        return CUFFT_INVALID_PLAN;
    plan->automatic = automatic != 0;
    return 0;
}

static Side
side_of(const Plan *plan, gboolean is_complex, gboolean half, const long long *embed,
        long long stride, long long apart)
{
    Side side = {
        .is_complex = is_complex,
        .is_double = (plan->type & 0x40) != 0,
        .n = half ? plan->n / 2 + 1 : plan->n,
    };
    side.stride = embed ? (size_t)stride : 1;
    side.apart = embed ? (size_t)apart : side.n;
    return side;
}

int
cufftMakePlanMany64(CufftHandle handle, int rank, long long *n, long long *in_embed,
                    long long in_stride, long long in_apart, long long *out_embed,
                    long long out_stride, long long out_apart, int type, long long batch,
                    size_t *bytes)
{
    const int failure = emulator_injected(__func__, CUFFT_INVALID_SIZE);
    if (failure)
        return failure;
    Plan *plan = plan_of(handle);
    if (!plan || plan->fourier)
        return CUFFT_INVALID_PLAN;
    if (rank != 1)
        return CUFFT_NOT_SUPPORTED;
    if (n[0] <= 0 || batch <= 0)
        return CUFFT_INVALID_SIZE;
    const gboolean to_real = type == CUFFT_C2R || type == CUFFT_Z2D;
    const gboolean from_real = type == CUFFT_R2C || type == CUFFT_D2Z;
    if (!to_real && !from_real && type != CUFFT_C2C && type != CUFFT_Z2Z)
        return CUFFT_INVALID_TYPE;
    if (!in_embed != !out_embed || (in_embed && (in_stride <= 0 || out_stride <= 0)))
        return CUFFT_INVALID_VALUE;
    plan->type = type;
    plan->n = (size_t)n[0];
    plan->batch = (size_t)batch;
    plan->in = side_of(plan, !from_real, to_real, in_embed, in_stride, in_apart);
    plan->out = side_of(plan, !to_real, from_real, out_embed, out_stride, out_apart);
    plan->fourier = emulator_fourier_new(plan->n);
    if (plan->automatic)
        plan->work = plan->own_work = g_malloc(work_bytes(plan));
    if (bytes)
        *bytes = work_bytes(plan);
    return 0;
}

int
cufftSetWorkArea(CufftHandle handle, void *work_area)
{
    Plan *plan = plan_of(handle);
    if (!plan || !plan->fourier)
        return CUFFT_INVALID_PLAN;
    if ((guintptr)work_area % sizeof(EmulatorComplex))
        return CUFFT_INVALID_VALUE;
    g_clear_pointer(&plan->own_work, g_free);
    plan->work = work_area;
    return 0;
}

int
cufftSetStream(CufftHandle handle, CtCuStream stream)
{
    Plan *plan = plan_of(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->stream = stream;
    return 0;
}
