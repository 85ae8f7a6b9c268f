/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn new-stage`: creates the folder of a plugin that builds and passes its own test. */
#define _GNU_SOURCE
#include "command.h"
#include "template-resource.h"

#include <cornerturn/inspect.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { ALWAYS, WITH_KERNEL, BY_HAND, ALONE } When;

/* The files in the folder. %F is the form, %N the plugin's name. */
static const struct {
    const char *resource, *file;
    When when;
} files[] = {
    {"%F.c", "%N.c", ALWAYS},
    {"%F.kernel.h", "%N.kernel.h", WITH_KERNEL},
    {"%F.h", "%N.h", BY_HAND},
    {"%F-cpu.c", "%N-cpu.c", BY_HAND},
    {"%F-cuda.c", "%N-cuda.c", BY_HAND},
    {"%F.cu", "%N.cu", BY_HAND},
    {"%F-test.py", "test-%N.py", ALWAYS},
    {"%F.md", "README.md", ALWAYS},
    {"%F.build", "meson.build", ALWAYS},
    {"kit/form-types.c.in", "kit/form-types.c.in", ALONE},
    {"kit/isa/meson.build", "kit/isa/meson.build", ALONE},
    {"kit/kernels.gresource.xml.in", "kit/kernels.gresource.xml.in", ALONE},
    {"kit/meson.build", "kit/meson.build", ALONE},
    {"kit/plugin.map", "kit/plugin.map", ALONE},
};

static const char *const forms[] = {"map",  "table",  "group", "fold", "window",
                                    "join", "source", "free",  NULL};

/* The stage that the command makes. */
typedef struct {
    const char *name, *form;
    char *plugin; /* the name up to the dot: of the plugin, its folder and its files */
    gboolean in_tree;
    char *folder;
} NewStage;

static const char list_path[] = "plugins/meson.build";

/* Checks a name, `plugin` or `plugin.rest`, which becomes part of file names and graphs. */
static gboolean
check_name(const char *name, GError **error)
{
    static const char legal[] = G_CSET_a_2_z G_CSET_DIGITS "_";
    const char *end = name + strspn(name, legal);
    const char *rest = *end == '.' ? end + 1 : "a";
    if (g_ascii_islower(*name) && g_ascii_islower(*rest) && (*end == '.' || *end == '\0') &&
        rest[strspn(rest, legal)] == '\0')
        return TRUE;
    g_set_error(
        error, CT_ERROR, CT_ERROR_PARAMETER,
        "a stage's name wants a letter, then letters, digits and _ (all lower case), with a second "
        "such word behind a dot if it has one, but is given '%s'",
        name);
    return FALSE;
}

static gboolean
write_file(const char *path, const char *text, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (g_file_set_contents(path, text, -1, &cause))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: cannot be written: %s", path, cause->message);
    return FALSE;
}

static char *
fill_in(const NewStage *stage, const char *text)
{
    GString *filled = g_string_new(text);
    g_string_replace(filled, "%F", stage->form, 0);
    g_string_replace(filled, "%N", stage->plugin, 0);
    g_string_replace(filled, "@PLUGIN@", stage->plugin, 0);
    g_string_replace(filled, "@STAGE@", stage->name, 0);
    return g_string_free(filled, FALSE);
}

static char *
read_template(const char *name, GError **error)
{
    g_autofree char *path = g_strconcat("/cornerturn/template/", name, NULL);
    g_autoptr(GBytes) bytes =
        g_resource_lookup_data(template_get_resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
    gsize length;
    const char *data = bytes ? g_bytes_get_data(bytes, &length) : NULL;
    return data ? g_strndup(data, length) : NULL;
}

/* Files of the kit are written as they are. The meson.build of a project of its own has that of a
 * plugin in its middle. */
static gboolean
write_template(const NewStage *stage, guint i, GError **error)
{
    g_autofree char *resource = fill_in(stage, files[i].resource);
    g_autofree char *file = fill_in(stage, files[i].file);
    g_autofree char *path = g_build_filename(stage->folder, file, NULL);
    g_autofree char *text = read_template(resource, error);
    if (!text)
        return FALSE;
    if (files[i].when == ALONE)
        return write_file(path, text, error);
    if (!stage->in_tree && g_str_equal(file, "meson.build")) {
        g_autofree char *project = read_template("meson.build", error);
        if (!project)
            return FALSE;
        g_auto(GStrv) parts = g_strsplit(project, "@OWN@\n", 2);
        g_autofree char *plugin = g_steal_pointer(&text);
        text = g_strjoinv(plugin, parts);
    }
    g_autofree char *filled = fill_in(stage, text);
    return write_file(path, filled, error);
}

/* Adds the folder to the end of the list of the source tree's plugins, before the line of the kit,
 * which makes those that the list has until then. */
static gboolean
add_to_list(const char *name, GError **error)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(list_path, &text, NULL, error))
        return FALSE;
    char *kit = g_strrstr(text, "\nsubdir('kit')\n");
    char *last = kit ? g_strrstr_len(text, kit - text, "\nsubdir('") : NULL;
    char *rest = last ? strchr(last + 1, '\n') : NULL;
    if (!rest) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: has no line subdir('…') before that of the kit to add to", list_path);
        return FALSE;
    }
    *rest = '\0';
    g_autofree char *list = g_strdup_printf("%s\nsubdir('%s')\n%s", text, name, rest + 1);
    return write_file(list_path, list, error);
}

/* The folder of an installation's plugins according to pkg-config; NULL: it knows none. */
static char *
ask_pkg_config(void)
{
    const char *given = secure_getenv("PKG_CONFIG");
    const char *const question[] = {given && *given ? given : "pkg-config", "--variable=plugindir",
                                    "cornerturn", NULL};
    g_autofree char *answer = NULL;
    if (!g_spawn_sync(NULL, (char **)question, NULL,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &answer, NULL,
                      NULL, NULL))
        return NULL;
    char *path = realpath(g_strstrip(answer), NULL);
    char *folder = g_strdup(path);
    free(path);
    return folder;
}

/* A folder that belongs to this command: `in_build` under the root of its build tree, or
 * `from_prefix` under the prefix of its installation (or absolute). NULL: it is in neither. */
static char *
own_folder(const char *in_build, const char *from_prefix)
{
    g_autofree char *file = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = g_path_get_dirname(file ? file : "");
    g_autofree char *above = g_path_get_dirname(folder);
    g_autofree char *mark = g_build_filename(above, "meson-private", NULL);
    if (g_file_test(mark, G_FILE_TEST_IS_DIR))
        return g_build_filename(above, in_build, NULL);
    if (g_path_is_absolute(from_prefix))
        return g_strdup(from_prefix);
    if (!g_str_has_suffix(folder, "/" CT_BINDIR))
        return NULL;
    folder[strlen(folder) - strlen("/" CT_BINDIR)] = '\0';
    return g_build_filename(folder, "/", from_prefix, NULL);
}

/* "PKG_CONFIG_PATH=… ", if pkg-config does not find this installation, or build, by itself. */
static char *
find_setting(void)
{
    g_autofree char *own = own_folder("plugins/kit", CT_PLUGIN_DIR_FROM_PREFIX);
    g_autofree char *folder = own_folder("meson-uninstalled", CT_LIBDIR "/pkgconfig");
    g_autofree char *found = ask_pkg_config();
    if (!folder || (found && g_str_equal(found, own)))
        return g_strdup("");
    g_autofree char *quoted = g_shell_quote(folder);
    const gboolean is_plain =
        !folder[strspn(folder, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "/._-")];
    const char *before = secure_getenv("PKG_CONFIG_PATH");
    return g_strdup_printf("PKG_CONFIG_PATH=%s%s ", is_plain ? folder : quoted,
                           before && *before ? ":\"$PKG_CONFIG_PATH\"" : "");
}

/* Whether neither the stage nor its plugin is installed: a second plugin of this name would hide
 * the first. */
static gboolean
check_is_new(const NewStage *stage, GError **error)
{
    g_autofree char *file = NULL;
    if (!ct_inspect_file(stage->name, &file, error))
        return FALSE;
    if (file) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "there is a stage '%s' already, in %s",
                    stage->name, file);
        return FALSE;
    }
    g_autofree char *own = own_folder("plugins/kit", CT_PLUGIN_DIR_FROM_PREFIX);
    g_autofree char *module = g_strdup_printf("%s/ct-%s.so", own ? own : "", stage->plugin);
    if (!g_file_test(module, G_FILE_TEST_EXISTS))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "there is a plugin '%s' already, %s",
                stage->plugin, module);
    return FALSE;
}

static gboolean
make_folders(const NewStage *stage, GError **error)
{
    g_autofree char *isa = g_build_filename(stage->folder, "kit", "isa", NULL);
    if (g_mkdir(stage->folder, 0777) == 0 &&
        (stage->in_tree || g_mkdir_with_parents(isa, 0777) == 0))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: cannot be made: %s", stage->folder,
                g_strerror(errno));
    return FALSE;
}

static gboolean
make(const NewStage *stage, GError **error)
{
    const gboolean by_hand = g_str_equal(stage->form, "free");
    const gboolean has_kernel = !by_hand && !g_str_equal(stage->form, "source");
    if (!make_folders(stage, error))
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(files); i++)
        if ((files[i].when == ALWAYS || (files[i].when == WITH_KERNEL && has_kernel) ||
             (files[i].when == BY_HAND && by_hand) ||
             (files[i].when == ALONE && !stage->in_tree)) &&
            !write_template(stage, i, error))
            return FALSE;
    return !stage->in_tree || add_to_list(stage->plugin, error);
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_autofree char *form = NULL;
    const GOptionEntry entries[] = {
        {"form", 'f', 0, G_OPTION_ARG_STRING, &form,
         "Of its mathematics: map, table, group, fold, window, join; source of packets; or free "
         "(map)",
         "FORM"},
        G_OPTION_ENTRY_NULL,
    };
    if (!ct_command_parse(&ct_command_new_stage, entries, &argc, &argv, 1, 1, error))
        return FALSE;
    if (form && !g_strv_contains(forms, form)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "--form wants map, table, group, fold, window, join, source or free, but is "
                    "given '%s'",
                    form);
        return FALSE;
    }
    NewStage stage = {
        .name = argv[1],
        .form = form ? form : "map",
        .in_tree = g_file_test(list_path, G_FILE_TEST_IS_REGULAR) &&
                   g_file_test("core/include/cornerturn", G_FILE_TEST_IS_DIR),
    };
    g_autofree char *plugin = stage.plugin = g_strndup(stage.name, strcspn(stage.name, "."));
    if (!check_name(stage.name, error) || !check_is_new(&stage, error))
        return FALSE;
    g_autofree char *folder = stage.folder =
        g_build_filename(stage.in_tree ? "plugins" : ".", plugin, NULL);
    if (!make(&stage, error))
        return FALSE;
    g_autofree char *setting = stage.in_tree ? NULL : find_setting();
    if (stage.in_tree)
        g_print("%s is made, and %s has it.\n  meson test -C build %s\n", folder, list_path,
                plugin);
    else
        g_print("%s is made.\n  cd %s && %smeson setup build && meson test -C build\n"
                "  CORNERTURN_PLUGIN_PATH=$PWD/build/kit cornerturn inspect %s\n",
                folder, folder, setting, stage.name);
    return TRUE;
}

const CtCommand ct_command_new_stage = {
    .name = "new-stage",
    .arguments = "NAME",
    .summary = "Make a plugin's folder that builds and passes its own test",
    .run = run,
};
