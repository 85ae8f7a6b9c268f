/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the tables of a plugin, and checks that they are consistent. */
#define _GNU_SOURCE
#include "model/unknown.h"
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

gboolean
ct_check_refuse_row(const CtCheck *check, GError **error, const char *field, const char *format,
                    ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const char *before = check->before ? *check->before : NULL;
    return before ? ct_check_refuse(check, error, field,
                                    "%s, after '%s': does the table end with {0}?", message, before)
                  : ct_check_refuse(check, error, field, "%s", message);
}

void
ct_check_begin_row(const CtCheck *check, gconstpointer table, gsize row_bytes, guint i)
{
    const guint8 *rows = table;
    *check->before =
        i == 0 ? NULL : *(const char *const *)(gconstpointer)(rows + (i - 1) * row_bytes);
}

void
ct_check_end_rows(const CtCheck *check)
{
    *check->before = NULL;
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

/* The readable memory of the whole process: a program may make the tables of a plugin that it
 * registers itself on its heap. */
static void
add_memory(GArray *spans)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/self/maps", &text, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        char *end, *flags;
        const gsize begin = g_ascii_strtoull(lines[i], &end, 16);
        if (*end != '-')
            continue;
        const Span span = {begin, g_ascii_strtoull(end + 1, &flags, 16)};
        Span *last = spans->len ? &g_array_index(spans, Span, spans->len - 1) : NULL;
        if (!g_str_has_prefix(flags, " r"))
            continue;
        if (last && last->end == span.begin)
            last->end = span.end;
        else
            g_array_append_val(spans, span);
    }
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
           ct_check_refuse_row(check, error, field, "is no text");
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
    return ct_check_refuse_row(check, error, field,
                               "wants letters, digits, _%s%s, but is given '%s'",
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

/* ---- structs of other sizes ---- */

/* Adds a part of the copy. */
static gpointer
keep(const CtCheck *check, gpointer part)
{
    g_ptr_array_add(check->memory, part);
    return part;
}

gboolean
ct_check_known(const CtCheck *check, const char *field, gconstpointer given, gsize given_bytes,
               gsize bytes, GError **error)
{
    return given_bytes <= bytes ||
           !ct_unknown_is_set((const guint8 *)given + bytes, given_bytes - bytes) ||
           ct_check_refuse(check, error, field, CT_UNKNOWN_FAULT);
}

gpointer
ct_check_copy_rows(const CtCheck *check, const char *field, gconstpointer given, gsize given_bytes,
                   gsize bytes, guint *n, GError **error)
{
    if (!ct_check_count_rows(check, field, given, given_bytes, n, error))
        return NULL;
    guint8 *copy = keep(check, g_malloc0_n(*n + 1, bytes));
    for (guint i = 0; i < *n; i++) {
        const guint8 *row = (const guint8 *)given + i * given_bytes;
        g_autofree char *which =
            g_strdup_printf("%s '%s'", field, *(const char *const *)(gconstpointer)row);
        if (!ct_check_known(check, which, row, given_bytes, bytes, error))
            return NULL;
        memcpy(copy + i * bytes, row, MIN(bytes, given_bytes));
    }
    return copy;
}

gpointer
ct_check_read(CtCheck *check, const char *what, guint i, gconstpointer given, gsize given_bytes,
              gsize bytes, GError **error)
{
    g_autofree char *table = g_strconcat(what, "s", NULL);
    const gboolean is_mapped = ct_check_mapped(check, given) >= given_bytes;
    const char *name = is_mapped ? *(const char *const *)given : NULL;
    g_free(check->who);
    check->who = g_strdup_printf("%s %u", what, i + 1);
    if (!is_mapped) {
        ct_check_refuse(check, error, table, "wants a %s, or NULL at its end, but has neither",
                        what);
        return NULL;
    }
    if (!name || !ct_check_is_text(check, name)) {
        ct_check_refuse(check, error, "name", "wants a text, but is given none");
        return NULL;
    }
    g_free(check->who);
    check->who = g_strdup_printf("%s '%s'", what, name);
    return memcpy(keep(check, g_malloc0(bytes)), given, MIN(bytes, given_bytes));
}

/* ---- the plugin ---- */

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
check_own_meeting(const CtCheck *check, const CtPlugin *plugin, const CtVariant *variant,
                  const char *const *covers, GError **error)
{
    const CtStage *stages[CT_MAX_COVERS];
    for (guint k = 0; variant->covers[k]; k++) {
        stages[k] = find_stage(plugin, variant->covers[k]);
        if (!stages[k] && g_str_equal(variant->covers[k], covers[k]))
            return ct_check_refuse(check, error, "covers",
                                   "wants the version of a stage of another plugin, as '%s 1', "
                                   "but is given '%s'",
                                   covers[k], covers[k]);
    }
    return ct_variant_check(variant, covers, stages, check->memory, error);
}

/* The length of an array of pointers that ends with NULL. */
static gboolean
count_pointers(const CtCheck *check, const char *field, gconstpointer array, guint *n,
               GError **error)
{
    const gconstpointer *pointers = array;
    if (!array)
        return ct_check_refuse(check, error, field, "wants a table, but is given none");
    for (*n = 0; *n < CT_CHECK_ROWS; (*n)++) {
        if (ct_check_mapped(check, &pointers[*n]) < sizeof *pointers)
            break;
        if (!pointers[*n])
            return TRUE;
    }
    return ct_check_refuse(check, error, field, "wants NULL at its end, but has none");
}

static const CtPlugin *
read_plugin(CtCheck *check, const CtPlugin *given, GError **error)
{
    guint n_stages, n_variants;
    CtPlugin *plugin = keep(check, g_new0(CtPlugin, 1));
    memcpy(plugin, given, MIN(check->sizes.plugin, sizeof *plugin));
    if (!plugin->name || !ct_check_is_text(check, plugin->name) || !*plugin->name) {
        ct_check_refuse(check, error, "name", "wants a text, but is given none");
        return NULL;
    }
    if (!ct_check_known(check, "CtPlugin", given, check->sizes.plugin, sizeof *plugin, error) ||
        !count_pointers(check, "stages", plugin->stages, &n_stages, error) ||
        !count_pointers(check, "variants", plugin->variants, &n_variants, error))
        return NULL;
    const CtStage **stages = keep(check, g_new0(const CtStage *, n_stages + 1));
    const CtVariant **variants = keep(check, g_new0(const CtVariant *, n_variants + 1));
    for (guint i = 0; i < n_stages; i++)
        if (!(stages[i] = ct_check_stage(check, plugin->stages[i], i, error)))
            return NULL;
    plugin->stages = stages;
    for (guint i = 0; i < n_variants; i++) {
        const CtVariant *own = plugin->variants[i];
        if (!(variants[i] = ct_check_variant(check, own, i, error)) ||
            !check_own_meeting(check, plugin, variants[i], own->covers, error))
            return NULL;
    }
    plugin->variants = variants;
    return plugin;
}

/* Sets the sizes of the plugin's structs. */
static gboolean
read_sizes(CtCheck *check, const CtPlugin *plugin, GError **error)
{
    const CtSizes *given = plugin->sizes;
    const gsize mapped = ct_check_mapped(check, given);
    const gboolean has_sizes = mapped >= sizeof given->sizes && mapped >= given->sizes;
    if (has_sizes)
        memcpy(&check->sizes, given, MIN(given->sizes, sizeof *given));
    if (!has_sizes || ct_check_mapped(check, plugin) < check->sizes.plugin)
        return ct_check_refuse(check, error, "sizes", "wants CT_SIZES, but is given others");
    const CtSizes *sizes = &check->sizes;
    const guint32 all[] = {sizes->plugin, sizes->stage, sizes->variant, sizes->port,
                           sizes->param,  sizes->row,   sizes->tunable};
    for (guint i = 0; i < G_N_ELEMENTS(all); i++)
        if (all[i] < sizeof(gpointer) || all[i] % sizeof(gpointer) != 0)
            return ct_check_refuse(check, error, "sizes",
                                   "wants multiples of %" G_GSIZE_FORMAT ", but is given %u",
                                   sizeof(gpointer), all[i]);
    return TRUE;
}

/* Nothing behind the version of another ABI may be read. */
static gboolean
check_version(const CtCheck *check, const CtPlugin *plugin, GError **error)
{
    if (ct_check_mapped(check, plugin) < G_STRUCT_OFFSET(CtPlugin, name) ||
        plugin->magic != CT_PLUGIN_MAGIC) {
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

const CtPlugin *
ct_plugin_read(const CtPlugin *given, GPtrArray *memory, GError **error)
{
    const char *before = NULL;
    CtCheck check = {
        .before = &before,
        .spans = g_array_new(FALSE, FALSE, sizeof(Span)),
        .who = g_strdup("plugin"),
        .memory = memory,
    };
    dl_iterate_phdr(add_spans, check.spans);
    if (ct_check_mapped(&check, given) == 0)
        add_memory(check.spans);
    const CtPlugin *plugin = check_version(&check, given, error) && read_sizes(&check, given, error)
                                 ? read_plugin(&check, given, error)
                                 : NULL;
    g_array_unref(check.spans);
    g_free(check.who);
    return plugin;
}
