/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the files that the parameters of a graph name: no node may write one that another uses, or
 * from which the graph is read. */
#include "graph.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that a parameter names, or the graph's own. */
typedef struct {
    const CtGraphNode *node; /* NULL: the graph's own */
    const CtParam *param;
    guint item; /* of the parameter's list */
    char *path; /* as given */
} File;

static void
file_free(gpointer data)
{
    File *file = data;
    g_free(file->path);
    g_free(file);
}

static gboolean
is_written(const File *file)
{
    return file->param && file->param->flags & CT_PARAM_WRITTEN;
}

/* Whether a file is an address of the network, from which packets are received, or to which they
 * are sent. */
static gboolean
is_address(const File *file)
{
    return g_str_has_prefix(file->path, "udp://") || g_str_has_prefix(file->path, "xdp://");
}

/* Whether a file is not one of a folder: standard input or output, an open file of the process, a
 * FIFO, an address of the network. */
static gboolean
is_pipe(const File *file)
{
    struct stat status;
    return file->param && file->param->flags & CT_PARAM_PIPE &&
           (strcmp(file->path, "-") == 0 || g_str_has_prefix(file->path, "fd:") ||
            is_address(file) || (stat(file->path, &status) == 0 && S_ISFIFO(status.st_mode)));
}

static gboolean
file_error(const File *file, GError **error, const char *message)
{
    GError *cause = NULL;
    ct_params_error(file->node->node.params, file->param->name, &cause, "%s", message);
    return ct_graph_blame(file->node, error, cause);
}

static gboolean
check_folder(const File *file, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(file->path);
    struct stat status;
    int failure = 0;
    if (stat(folder, &status) != 0)
        failure = errno;
    else if (!S_ISDIR(status.st_mode))
        failure = ENOTDIR;
    else if (access(folder, W_OK | X_OK) != 0)
        failure = errno;
    if (failure == 0)
        return TRUE;
    g_autofree char *message = g_strdup_printf("wants a folder to write to, but is given '%s': %s",
                                               folder, g_strerror(failure));
    return file_error(file, error, message);
}

/* The same text for all spellings of a path, whether or not the file exists. */
static char *
real_name(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    char *real = realpath(folder, NULL);
    char *whole = real ? g_build_filename(real, name, NULL) : g_canonicalize_filename(path, NULL);
    free(real);
    return whole;
}

/* The same text for all names of an existing file, links included; NULL if it does not exist. */
static char *
inode_name(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return NULL;
    return g_strdup_printf("%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
}

/* A pipe by its number, or an address by itself, if it has one. */
static char *
pipe_name(const File *file)
{
    if (strcmp(file->path, "-") == 0)
        return g_strdup(is_written(file) ? "fd:1" : "fd:0");
    return g_str_has_prefix(file->path, "fd:") || is_address(file) ? g_strdup(file->path) : NULL;
}

static char *
describe_use(const File *file)
{
    if (!file->node)
        return g_strdup("from which the graph is read");
    return g_strdup_printf("which node '%s' %s", file->node->node.name,
                           is_written(file) ? "writes" : "reads");
}

/* Adds a file to the table of known files, or reports the conflict with one; takes `name`. */
static gboolean
enter(GHashTable *known, char *name, File *file, GError **error)
{
    const File *other = g_hash_table_lookup(known, name);
    const gboolean is_other = other && (other->node != file->node || other->param != file->param ||
                                        other->item != file->item);
    if (!is_other || (!is_written(file) && !is_written(other))) {
        if (other)
            g_free(name);
        else
            g_hash_table_insert(known, name, file);
        return TRUE;
    }
    g_free(name);
    const File *blamed = is_written(file) ? file : other;
    const File *innocent = blamed == file ? other : file;
    g_autofree char *use = describe_use(innocent);
    g_autofree char *spelled = strcmp(blamed->path, innocent->path) == 0
                                   ? g_strdup("")
                                   : g_strdup_printf(" as '%s'", innocent->path);
    g_autofree char *message = g_strdup_printf(
        "wants files that %s, but would write '%s', %s%s",
        innocent->node ? "no other node uses" : "nobody else uses", blamed->path, use, spelled);
    return file_error(blamed, error, message);
}

static gboolean
check_file(GHashTable *known, GPtrArray *files, const File *named, const char *ending,
           GError **error)
{
    File *file = g_memdup2(named, sizeof *named);
    file->path = g_strconcat(named->path, ending, NULL);
    g_ptr_array_add(files, file);
    if (is_written(file) && !is_pipe(file) && !check_folder(file, error))
        return FALSE;
    /* Several nodes may send to one address. */
    if (is_written(file) && is_pipe(file) && is_address(file))
        return TRUE;
    char *number = is_pipe(file) ? pipe_name(file) : NULL;
    if (number)
        return enter(known, number, file, error);
    if (!enter(known, real_name(file->path), file, error))
        return FALSE;
    char *inode = inode_name(file->path);
    return !inode || enter(known, inode, file, error);
}

static gboolean
check_own_files(GHashTable *known, GPtrArray *files, const CtGraph *graph, GError **error)
{
    const File own = {.path = graph->config->path};
    if (own.path && !check_file(known, files, &own, "", error))
        return FALSE;
    for (guint i = 0; i < graph->config->files->len; i++) {
        const File included = {.path = graph->config->files->pdata[i]};
        if (!check_file(known, files, &included, "", error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
check_param(GHashTable *known, GPtrArray *files, const CtGraphNode *node, const CtParam *param,
            GError **error)
{
    const CtParams *given = node->node.params;
    for (guint i = 0; i < ct_params_count(given, param->name); i++) {
        const File named = {node, param, i, (char *)ct_params_string_at(given, param->name, i)};
        if (!check_file(known, files, &named, "", error))
            return FALSE;
        const char *const *ending = is_pipe(&named) ? NULL : param->endings;
        for (; ending && *ending; ending++)
            if (!check_file(known, files, &named, *ending, error))
                return FALSE;
    }
    return TRUE;
}

gboolean
ct_graph_check_files(const CtGraph *graph, GError **error)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(file_free);
    if (!check_own_files(known, files, graph, error))
        return FALSE;
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *node = graph->nodes->pdata[i];
        const CtParam *param = node->node.stage->params;
        /* What is wrong with a broken node's paths has been said, or may follow from it. */
        for (; param && param->name && !node->is_broken; param++)
            if (param->kind == CT_PARAM_PATH && !check_param(known, files, node, param, error))
                return FALSE;
    }
    return TRUE;
}

/* Checks one pipe; `known` has those before it. */
static gboolean
check_pipe(GHashTable *known, const File *file, gboolean reads_pipes, GError **error)
{
    char *number = pipe_name(file);
    char *name = number ? number : inode_name(file->path);
    const CtGraphNode *other = name ? g_hash_table_lookup(known, name) : NULL;
    if (!other && reads_pipes) {
        if (name)
            g_hash_table_insert(known, name, (gpointer)file->node);
        return TRUE;
    }
    g_free(name);
    const char *what = is_address(file) ? "an address" : "a pipe";
    g_autofree char *message =
        reads_pipes
            ? g_strdup_printf("wants %s that nobody else reads, but '%s' is one that node '%s' "
                              "reads",
                              what, file->path, other->node.name)
            : g_strdup_printf("wants a file, but '%s' is %s, which can be read only once: by "
                              "'cornerturn run'",
                              file->path, what);
    return file_error(file, error, message);
}

gboolean
ct_graph_check_pipes(const CtGraph *graph, gboolean reads_pipes, GError **error)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = graph->nodes->pdata[n];
        const CtParams *given = node->node.params;
        const CtParam *param = node->node.stage->params;
        for (; param && param->name; param++)
            for (guint i = 0;
                 param->flags & CT_PARAM_PIPE && i < ct_params_count(given, param->name); i++) {
                const File file = {node, param, i,
                                   (char *)ct_params_string_at(given, param->name, i)};
                if (!is_written(&file) && is_pipe(&file) &&
                    !check_pipe(known, &file, reads_pipes, error))
                    return FALSE;
            }
    }
    return TRUE;
}

gboolean
ct_graph_writes_stdout(const CtGraph *graph)
{
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *node = graph->nodes->pdata[i];
        const CtParam *param = node->node.stage->params;
        for (; param && param->name; param++)
            for (guint k = 0; param->flags & CT_PARAM_PIPE && param->flags & CT_PARAM_WRITTEN &&
                              k < ct_params_count(node->node.params, param->name);
                 k++)
                if (strcmp(ct_params_string_at(node->node.params, param->name, k), "-") == 0)
                    return TRUE;
    }
    return FALSE;
}
