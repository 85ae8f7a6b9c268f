/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages that wait at a FIFO, and one whose infer warns. */
#include "pass.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- the FIFO ---- */

typedef struct {
    int fd;
    gint64 n_samples;
} Wait;

static const CtParam path_params[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_REQUIRED, .help = "a FIFO"},
    {NULL},
};

static gboolean
wait_prepare(const CtPrepare *prepare, int flags, gpointer *state, GError **error)
{
    const char *path = ct_params_string(prepare->nodes[0].params, "path");
    const int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s", path, g_strerror(errno));
        return FALSE;
    }
    Wait *self = g_new0(Wait, 1);
    self->fd = fd;
    *state = self;
    return TRUE;
}

static void
wait_finish(gpointer state)
{
    const Wait *self = state;
    if (self)
        close(self->fd);
    g_free(state);
}

/* ---- wait.source: gives a zero for each byte that it reads ---- */

static gboolean
source_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    CtStream *stream = &node->outputs[0];
    ct_params_use(node->params, "path");
    stream->type = CT_U8;
    ct_stream_add_axis(stream, "time", -1);
    stream->rate_num = stream->rate_den = stream->ticks_per_sample = 1;
    return TRUE;
}

static gboolean
source_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    return wait_prepare(prepare, O_RDONLY, state, error);
}

static gboolean
source_advance(gpointer state, CtAdvance *advance, GError **error)
{
    Wait *self = state;
    guint8 byte;
    ssize_t n;
    do
        n = read(self->fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "the FIFO: %s", g_strerror(errno));
        return FALSE;
    }
    advance->outputs[0].start = self->n_samples;
    advance->outputs[0].produced = n;
    advance->ended = n == 0;
    self->n_samples += n;
    return TRUE;
}

static gboolean
source_work(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    memset(work->outputs[0].data, 0, (gsize)work->outputs[0].n_samples);
    return TRUE;
}

static const CtPort source_inputs[] = {{0}};
static const CtPort source_outputs[] = {{"out", "u8{time}", 0, "Zeros"}, {0}};

static const CtStage source_stage = {
    .name = "wait.source",
    .summary = "Gives a zero for each byte that comes",
    .version = 1,
    .inputs = source_inputs,
    .outputs = source_outputs,
    .params = path_params,
    .infer = source_infer,
};

static const CtVariant source_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"wait.source", NULL},
    .rows = (const CtRow[]){{"-> u8[time]", 0.5}, {0}},
    .waits = TRUE,
    .prepare = source_prepare,
    .advance = source_advance,
    .work = source_work,
    .finish = wait_finish,
};

/* ---- wait.work: writes a byte, and waits ---- */

static gboolean
work_infer(CtNode *node, GError **error)
{
    ct_params_use(node->params, "path");
    return pass_infer(node, error);
}

static gboolean
work_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    return wait_prepare(prepare, O_WRONLY, state, error);
}

static gboolean
work_work(gpointer state, G_GNUC_UNUSED const CtWork *work, GError **error)
{
    const Wait *self = state;
    if (write(self->fd, "w", 1) != 1) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "the FIFO: %s", g_strerror(errno));
        return FALSE;
    }
    for (;;)
        pause();
}

static const CtStage work_stage = {
    .name = "wait.work",
    .summary = "Never returns from work",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = path_params,
    .infer = work_infer,
};

static const CtVariant work_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"wait.work", NULL},
    .rows = pass_rows,
    .prepare = work_prepare,
    .work = work_work,
    .finish = wait_finish,
};

/* ---- wait.warn: warns, and uses one of its two parameters ---- */

static const CtParam warn_params[] = {
    {"used", CT_PARAM_INT, .fallback = "0", .help = "makes it warn"},
    {"unused", CT_PARAM_INT, .fallback = "0", .help = "does nothing"},
    {NULL},
};

static gboolean
warn_infer(CtNode *node, GError **error)
{
    if (ct_params_int(node->params, "used") != 0)
        ct_params_warn(node->params, "used", "is %d, of which nobody knows what it means",
                       (int)ct_params_int(node->params, "used"));
    if (ct_params_int(node->params, "used") > 1)
        ct_params_warn(node->params, NULL, "goes on nevertheless");
    return pass_infer(node, error);
}

static const CtStage warn_stage = {
    .name = "wait.warn",
    .summary = "Warns in infer",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = warn_params,
    .infer = warn_infer,
};

static const CtVariant warn_variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"wait.warn", NULL},
    .rows = pass_rows,
    .prepare = pass_prepare,
    .work = pass_work,
};

CT_PLUGIN("wait", ((const CtStage *const[]){&source_stage, &work_stage, &warn_stage, NULL}),
          ((const CtVariant *const[]){&source_variant, &work_variant, &warn_variant, NULL}));
