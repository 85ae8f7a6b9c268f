/* @STAGE@ on a GPU: the kernel and its launch. */
#include "@PLUGIN@.h"

#include <cornerturn/cuda.h>

#define THREADS 256

/* As in @PLUGIN@.cu. */
typedef struct {
    gint64 length[3];
    gint64 x[3], y[3];
} Axes;

typedef struct {
    CtKernel *kernel;
    float factor;
} State;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->factor = (float)ct_params_real(prepare->nodes[0].params, "factor");
    self->kernel = ct_kernel_new(prepare->device,
                                 &(CtKernelSpec){
                                     .name = "multiply",
                                     .source = "/cornerturn/plugins/@PLUGIN@/@PLUGIN@.cu",
                                 },
                                 error);
    return self->kernel != NULL;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gconstpointer x = in->data;
    gpointer y = out->data;
    Axes axes;
    gint64 n = 1;
    for (guint a = 0; a < 3; a++) {
        axes.length[a] = out->length[a];
        axes.x[a] = in->stride[a];
        axes.y[a] = out->stride[a];
        n *= out->length[a];
    }
    const CtLaunch launch = {
        .grid = {(guint)((n + THREADS - 1) / THREADS), 1, 1},
        .block = {THREADS, 1, 1},
    };
    return ct_queue_launch(work->queue, self->kernel, &launch,
                           (gpointer[]){&x, &y, &axes, &self->factor}, error);
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    g_free(self);
}

const CtVariant times_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"cf32[time station pol] -> cf32[time station pol]", 0.7}, {0}},
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
