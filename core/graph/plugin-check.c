/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables of a plugin are consistent. */
#define _GNU_SOURCE
#include "plugin-check-private.h"

#include <link.h>
#include <string.h>

/* The most bytes of a text. */
#define MAX_TEXT 65536

#define NAME_LETTERS G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_"

typedef struct {
    gsize begin, end;
} Span;

gboolean
ct_check_refuse(const CtCheck *check, GError **error, const char *field, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "%s: %s: %s", check->who, field, message);
    return FALSE;
}

/* ---- memory that may be read ---- */

static int
add_spans(struct dl_phdr_info *object, G_GNUC_UNUSED size_t size, void *data)
{
    GArray *spans = data;
    for (guint i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        const gsize begin = object->dlpi_addr + header->p_vaddr;
        const Span span = {begin, begin + header->p_memsz};
        if (header->p_type == PT_LOAD && header->p_flags & PF_R)
            g_array_append_val(spans, span);
    }
    return 0;
}

gsize
ct_check_mapped(const CtCheck *check, gconstpointer address)
{
    const gsize at = GPOINTER_TO_SIZE(address);
    for (guint i = 0; i < check->spans->len; i++) {
        const Span *span = &g_array_index(check->spans, Span, i);
        if (at >= span->begin && at < span->end)
            return span->end - at;
    }
    return 0;
}

gboolean
ct_check_is_text(const CtCheck *check, const char *text)
{
    const gsize most = MIN(ct_check_mapped(check, text), MAX_TEXT);
    const char *end = most ? memchr(text, 0, most) : NULL;
    return end && g_utf8_validate(text, end - text, NULL);
}

gboolean
ct_check_remark(const CtCheck *check, const char *field, const char *text, GError **error)
{
    return !text || ct_check_is_text(check, text) ||
           ct_check_refuse(check, error, field, "is no text");
}

gboolean
ct_check_count_rows(const CtCheck *check, const char *field, gconstpointer table, gsize row_bytes,
                    guint *n, GError **error)
{
    for (*n = 0; *n < CT_CHECK_ROWS; (*n)++) {
        const char *const *row = (gconstpointer)((const guint8 *)table + *n * row_bytes);
        if (ct_check_mapped(check, row) < row_bytes)
            return ct_check_refuse(check, error, field,
                                   "wants an empty row at its end, but has none");
        if (!*row)
            return TRUE;
        if (!ct_check_is_text(check, *row))
            return ct_check_refuse(
                check, error, field,
                "wants a name in row %u, or an empty row at its end, but has neither", *n + 1);
    }
    return ct_check_refuse(check, error, field,
                           "wants an empty row at its end, but has none in %u rows", CT_CHECK_ROWS);
}

gboolean
ct_check_name(const CtCheck *check, const char *field, const char *name, const char *signs,
              GError **error)
{
    g_autofree char *accepted = g_strconcat(NAME_LETTERS, signs, NULL);
    if (*name && name[strspn(name, accepted)] == '\0')
        return TRUE;
    return ct_check_refuse(check, error, field, "wants letters, digits, _%s%s, but is given '%s'",
                           *signs ? " and " : "", signs, name);
}

gboolean
ct_check_unique(const CtCheck *check, const char *field, gconstpointer table, gsize row_bytes,
                guint i, GError **error)
{
    const guint8 *rows = table;
    const char *name = *(const char *const *)(gconstpointer)(rows + i * row_bytes);
    for (guint k = 0; k < i; k++)
        if (g_str_equal(name, *(const char *const *)(gconstpointer)(rows + k * row_bytes)))
            return ct_check_refuse(check, error, field, "'%s' stands twice", name);
    return TRUE;
}

static const CtStage *
find_stage(const CtPlugin *plugin, const char *name)
{
    for (guint i = 0; plugin->stages[i]; i++)
        if (g_str_equal(plugin->stages[i]->name, name))
            return plugin->stages[i];
    return NULL;
}

/* Checks the variant against stages of the same plugin. Variants of other plugins' stages are
 * checked when all plugins are loaded. */
static gboolean
check_own_meeting(const CtPlugin *plugin, const CtVariant *variant, GError **error)
{
    guint n = 0;
    while (variant->covers[n])
        n++;
    const CtStage *first = find_stage(plugin, variant->covers[0]);
    const CtStage *last = find_stage(plugin, variant->covers[n - 1]);
    return !first || !last || ct_variant_check(variant, first, last, error);
}

/* ---- the plugin ---- */

/* Checks that an array of pointers is NULL-terminated. */
static gboolean
check_array(const CtCheck *check, const char *field, gconstpointer array, GError **error)
{
    const gconstpointer *pointers = array;
    if (!array)
        return ct_check_refuse(check, error, field, "wants a table, but is given none");
    for (guint i = 0; i < CT_CHECK_ROWS; i++) {
        if (ct_check_mapped(check, &pointers[i]) < sizeof *pointers)
            break;
        if (!pointers[i])
            return TRUE;
    }
    return ct_check_refuse(check, error, field, "wants NULL at its end, but has none");
}

static gboolean
check_plugin(CtCheck *check, const CtPlugin *plugin, GError **error)
{
    if (!plugin->name || !ct_check_is_text(check, plugin->name) || !*plugin->name)
        return ct_check_refuse(check, error, "name", "wants a text, but is given none");
    if (!check_array(check, "stages", plugin->stages, error) ||
        !check_array(check, "variants", plugin->variants, error))
        return FALSE;
    for (guint i = 0; plugin->stages[i]; i++)
        if (!ct_check_stage(check, plugin->stages[i], i, error))
            return FALSE;
    for (guint i = 0; plugin->variants[i]; i++)
        if (!ct_check_variant(check, plugin->variants[i], i, error) ||
            !check_own_meeting(plugin, plugin->variants[i], error))
            return FALSE;
    return TRUE;
}

static gboolean
check_version(const CtCheck *check, const CtPlugin *plugin, GError **error)
{
    if (ct_check_mapped(check, plugin) < sizeof *plugin || plugin->magic != CT_PLUGIN_MAGIC) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "is not a plugin of Cornerturn");
        return FALSE;
    }
    if (plugin->abi_version == CT_ABI_VERSION)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "is of ABI version %u, but this Cornerturn wants version %d", plugin->abi_version,
                CT_ABI_VERSION);
    return FALSE;
}

gboolean
ct_plugin_check(const CtPlugin *plugin, GError **error)
{
    CtCheck check = {
        .spans = g_array_new(FALSE, FALSE, sizeof(Span)),
        .who = g_strdup("plugin"),
    };
    dl_iterate_phdr(add_spans, check.spans);
    const gboolean good =
        check_version(&check, plugin, error) && check_plugin(&check, plugin, error);
    g_array_unref(check.spans);
    g_free(check.who);
    return good;
}
