/* SPDX-License-Identifier: BSD-3-Clause */
/* A stage that runs on devices only, and fails there as a parameter says. */
#include "pass.h"

#define THREADS 256

typedef enum {
    FINE,
    BROKEN,   /* the kernel does not compile */
    NAMELESS, /* there is no such kernel in the source */
    LOST,     /* the source does not exist */
    GREEDY,   /* no device has so much memory */
    WIDE,     /* … nor a multiprocessor so much shared memory */
    HEAVY,    /* no block has so many threads; in the second firing */
    CHATTY,   /* the second firing uploads more than prepare has declared */
    ASTRAY,   /* the kernel runs into a trap */
    NEWER,    /* the kernel uses a member of newer headers */
    LATER,    /* … and so does the second launch */
    MODEST,   /* a firing may have 40000 samples at most */
} How;

static const char *const hows[] = {"fine",  "broken", "nameless", "lost",   "greedy",
                                   "wide",  "heavy",  "chatty",   "astray", "newer",
                                   "later", "modest", NULL};

static const CtParam params[] = {
    {.name = "how", .kind = CT_PARAM_CHOICE, .fallback = "fine", .choices = hows, .help = "fails"},
    {0},
};

typedef struct {
    How how;
    CtDevice *device;
    gpointer table;
    CtKernel *kernel;
    gpointer more;
} Lame;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    static const char *const nothing[] = {NULL}, *const is_broken[] = {"IS_BROKEN", NULL},
                             *const is_astray[] = {"IS_ASTRAY", NULL};
    Lame *self = *state = g_new0(Lame, 1);
    self->how = (How)ct_params_choice(prepare->nodes[0].params, "how");
    self->device = prepare->device;
    prepare->upload_bytes = 256;
    /* The table must be freed if the rest fails. */
    self->table = ct_device_alloc(self->device, 1000, "a table", error);
    if (!self->table)
        return FALSE;
    if (self->how == MODEST && prepare->inputs[0].max_samples > 40000) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "wants 40000 samples at most, but is given %" G_GINT64_FORMAT,
                    prepare->inputs[0].max_samples);
        return FALSE;
    }
    const CtKernelSpec spec = {
        .name = self->how == NAMELESS ? "nameless" : "lame",
        .source = self->how == LOST ? "/cornerturn/tests/lost.cu" : "/cornerturn/tests/lame.cu",
        .defines = self->how == BROKEN   ? is_broken
                   : self->how == ASTRAY ? is_astray
                                         : nothing,
        .shared_bytes = self->how == WIDE ? 1 << 20 : 0,
        .reserved[0] = self->how == NEWER,
    };
    self->kernel = ct_kernel_new(self->device, &spec, error);
    if (!self->kernel)
        return FALSE;
    const gsize bytes = self->how == GREEDY ? (gsize)1 << 50 : 1000;
    self->more = ct_device_alloc(self->device, bytes, "more", error);
    return self->more != NULL;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Lame *self = state;
    static const guint8 much[1 << 20];
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gboolean is_second = in->index > 0;
    if (is_second && self->how == CHATTY && !ct_queue_upload(work->queue, much, sizeof much, error))
        return FALSE;
    gint64 n = out->n_samples * out->stride[0];
    const CtLaunch launch = {
        .grid = {(guint)((n + THREADS - 1) / THREADS), 1, 1},
        .block = {is_second && self->how == HEAVY ? 2048 : THREADS, 1, 1},
        .reserved[1] = is_second && self->how == LATER,
    };
    gconstpointer arguments[] = {&in->data, &out->data, &n};
    return ct_queue_launch(work->queue, self->kernel, &launch, (gpointer *)arguments, error);
}

static void
finish(gpointer state)
{
    Lame *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->table);
    ct_device_free(self->device, self->more);
    g_free(self);
}

static const CtStage lame_stage = {
    .name = "lame",
    .summary = "Fails on devices",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = params,
    .infer = pass_infer,
};

static const CtVariant lame_variant = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"lame", NULL},
    .rows = (const CtRow[]){{"[time ...] -> [time ...]", 0.5}, {0}},
    .prepare = prepare,
    .work = work,
    .finish = finish,
};

CT_PLUGIN("lame", ((const CtStage *const[]){&lame_stage, NULL}),
          ((const CtVariant *const[]){&lame_variant, NULL}));
