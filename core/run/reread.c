/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of parameters again when they change: `reread: true`.
 *
 * A thread looks at the files ten times a second, which also works where other machines write them.
 * A file is read when it has changed and stayed the same since the last look. */
#include "model/node-params.h"
#include "model/thread.h"
#include "scheduler-private.h"

#include <glib/gstdio.h>
#include <string.h>

#define SECONDS_BETWEEN_LOOKS 0.1

/* The marks of a file's version: if one differs, the file has changed. */
typedef struct {
    guint64 device, number;
    gint64 bytes, seconds, nanoseconds;
} Stamp;

typedef struct {
    CtRunNode *node;
    guint covered;
    const CtParam *param;
    CtPlace place; /* of the path in the graph */
    char *path;
    Stamp read; /* of the file as it was read or refused */
    Stamp seen; /* … as it was when last looked at */
} File;

struct CtReread {
    CtScheduler *scheduler;
    GArray *files;
    GThread *thread;
};

static Stamp
look(const char *path)
{
    GStatBuf status;
    if (g_stat(path, &status) != 0)
        return (Stamp){0};
    return (Stamp){status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec};
}

static gboolean
is_same(const Stamp *a, const Stamp *b)
{
    return a->device == b->device && a->number == b->number && a->bytes == b->bytes &&
           a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

static void
file_clear(gpointer item)
{
    g_free(((File *)item)->path);
}

/* Adds the files of a node that the graph gives. */
static void
add_files(CtReread *self, CtRunNode *node, guint covered, const CtConfigStage *config)
{
    const CtNode *of = &node->plan->nodes[covered];
    for (const CtParam *param = ct_stage_params(of->stage); param->name; param++) {
        const CtValue *value = ct_value_get(config->params, param->name);
        if (param->kind != CT_PARAM_PATH || !(param->flags & CT_PARAM_LIVE) || !value)
            continue;
        const File file = {
            .node = node,
            .covered = covered,
            .param = param,
            .place = value->place,
            .path = g_strdup(ct_params_string(of->params, param->name)),
            .read = look(ct_params_string(of->params, param->name)),
        };
        g_array_append_val(self->files, file);
    }
}

CtReread *
ct_reread_new(CtScheduler *scheduler)
{
    CtReread *self = g_new0(CtReread, 1);
    self->scheduler = scheduler;
    self->files = g_array_new(FALSE, TRUE, sizeof(File));
    g_array_set_clear_func(self->files, file_clear);
    for (guint i = 0; i < scheduler->n_nodes && scheduler->options.rereads; i++) {
        CtRunNode *node = &scheduler->nodes[i];
        for (guint k = 0; k < node->plan->n_nodes && !node->plan->inserted; k++) {
            const CtConfigStage *config =
                ct_config_find(scheduler->plan->graph->config, node->plan->nodes[k].name);
            if (config && config->reread)
                add_files(self, node, k, config);
        }
    }
    return self;
}

/* Reads a file that has changed. If it cannot be used, the old values stay, with a warning. */
static void
read_again(CtReread *self, const File *file)
{
    CtScheduler *scheduler = self->scheduler;
    const char *name = file->node->plan->nodes[file->covered].name;
    g_autofree char *shown = g_strdup_printf("%s.%s=%s", name, file->param->name, file->path);
    g_autoptr(CtValue) value = ct_value_new_text(&file->place, file->path);
    g_autoptr(GError) error = NULL;
    gint64 tick = CT_CHANGE_NOW;
    if (ct_scheduler_change(scheduler, name, file->param->name, value, shown, &tick, &error) ||
        g_error_matches(error, CT_ERROR, CT_ERROR_ORDER))
        return;
    /* The warning says itself where the parameter stands. */
    g_autofree char *where = ct_place_to_string(&file->place);
    g_autofree char *prefix = g_strdup_printf("%s: node '%s': ", where, file->node->plan->name);
    const gboolean has_prefix = g_str_has_prefix(error->message, prefix);
    pthread_mutex_lock(&scheduler->lock);
    ct_warnings_add(scheduler->warnings, CT_WARNING_CHANGE, file->node->plan->name, &file->place,
                    "%s; the values before stay in effect",
                    error->message + (has_prefix ? strlen(prefix) : 0));
    pthread_mutex_unlock(&scheduler->lock);
}

/* A change from elsewhere may have named another file. */
static void
follow_path(CtReread *self, File *file)
{
    pthread_mutex_lock(&self->scheduler->lock);
    const CtParams *params = file->node->now.nodes[file->covered].params;
    const char *path = ct_params_string(params, file->param->name);
    const gboolean is_other = !g_str_equal(path, file->path);
    if (is_other) {
        g_free(file->path);
        file->path = g_strdup(path);
    }
    pthread_mutex_unlock(&self->scheduler->lock);
    if (is_other)
        file->read = look(file->path);
}

static void
look_again(CtReread *self, File *file)
{
    const Stamp none = {0};
    follow_path(self, file);
    const Stamp now = look(file->path);
    const gboolean is_settled = is_same(&now, &file->seen);
    file->seen = now;
    if (!is_settled || is_same(&now, &file->read) || is_same(&now, &none))
        return;
    file->read = now;
    read_again(self, file);
}

static gpointer
watch(gpointer data)
{
    CtReread *self = data;
    CtScheduler *scheduler = self->scheduler;
    pthread_mutex_lock(&scheduler->lock);
    while (!scheduler->stop) {
        struct timespec until;
        ct_scheduler_deadline(&until, SECONDS_BETWEEN_LOOKS);
        pthread_cond_timedwait(&scheduler->over, &scheduler->lock, &until);
        pthread_mutex_unlock(&scheduler->lock);
        for (guint i = 0; i < self->files->len; i++)
            look_again(self, &g_array_index(self->files, File, i));
        pthread_mutex_lock(&scheduler->lock);
    }
    pthread_mutex_unlock(&scheduler->lock);
    return NULL;
}

gboolean
ct_reread_start(CtReread *self, GError **error)
{
    if (self->files->len > 0)
        self->thread = ct_thread_start("reread", watch, self, error);
    return self->files->len == 0 || self->thread;
}

void
ct_reread_free(CtReread *self)
{
    if (!self)
        return;
    if (self->thread)
        g_thread_join(self->thread);
    g_array_unref(self->files);
    g_free(self);
}
