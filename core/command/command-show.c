/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn show`: draws what a file contains. */
#define _GNU_SOURCE
#include "command.h"
#include "show/show.h"

#include <cornerturn/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pixels of pictures; columns and lines where there is no terminal. */
enum { WIDTH = 1200, HEIGHT = 800, COLUMNS = 100, LINES = 32, LEAST = 100, MOST = 8192 };

typedef struct {
    char *output, *size, *stage, *axes, *quantity, *format;
    char **set, **select;
    gint64 channels;
    gboolean decibels, dark;
} Given;

static void
given_clear(Given *given)
{
    g_free(given->output);
    g_free(given->size);
    g_free(given->stage);
    g_free(given->axes);
    g_free(given->quantity);
    g_free(given->format);
    g_strfreev(given->set);
    g_strfreev(given->select);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

static gboolean
refuse(const char *option, const char *wants, const char *given, GError **error)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s wants %s, but is given '%s'",
                option, wants, given);
    return FALSE;
}

static gboolean
read_size(const Given *given, CtShow *show, GError **error)
{
    char *end = NULL;
    if (!given->size)
        return TRUE;
    const guint64 width = g_ascii_strtoull(given->size, &end, 10);
    const guint64 height = *end == 'x' ? g_ascii_strtoull(end + 1, &end, 10) : 0;
    if (*end || width < LEAST || width > MOST || height < LEAST || height > MOST)
        return refuse("--size", "WIDTHxHEIGHT, each 100 to 8192 pixels", given->size, error);
    show->width = (guint)width;
    show->height = (guint)height;
    return TRUE;
}

/* On a terminal that shows them, colours, as large as it is; otherwise characters. */
static void
take_terminal(CtShow *show)
{
    struct winsize size;
    const char *colours = secure_getenv("COLORTERM");
    const gboolean is_terminal = isatty(STDOUT_FILENO);
    const gboolean has_colours =
        colours && (strstr(colours, "truecolor") || strstr(colours, "24bit"));
    show->format =
        is_terminal && has_colours && !secure_getenv("NO_COLOR") ? CT_SHOW_COLOURS : CT_SHOW_TEXT;
    show->width = COLUMNS;
    show->height = LINES;
    if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        show->width = size.ws_col;
        show->height = size.ws_row - 1u;
    }
}

static gboolean
choose_format(const Given *given, CtShow *show, GError **error)
{
    if (!given->output) {
        take_terminal(show);
        if (!given->size && !given->format)
            return TRUE;
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s wants a picture, but no -o PICTURE is given",
                    given->size ? "--size" : "--format");
        return FALSE;
    }
    const gboolean is_stdout = g_str_equal(given->output, "-");
    const char *point = strrchr(given->output, '.');
    const char *format = given->format ? given->format : point ? point + 1 : "";
    show->width = WIDTH;
    show->height = HEIGHT;
    show->format = g_str_equal(format, "svg") ? CT_SHOW_SVG : CT_SHOW_PNG;
    if (!g_str_equal(format, "svg") && !g_str_equal(format, "png")) {
        if (given->format)
            return refuse("--format", "png or svg", given->format, error);
        if (!is_stdout)
            return refuse("-o", "a name that ends in .png or .svg", given->output, error);
    }
    return (is_stdout || ct_command_check_output("-o", given->output, error)) &&
           read_size(given, show, error);
}

/* Whether the picture would take the place of a file that is shown. */
static gboolean
is_shown(const char *output, char **paths)
{
    struct stat picture, file;
    if (!output || stat(output, &picture) != 0)
        return FALSE;
    for (guint i = 0; paths[i]; i++)
        if (stat(paths[i], &file) == 0 && file.st_dev == picture.st_dev &&
            file.st_ino == picture.st_ino)
            return TRUE;
    return FALSE;
}

/* The words before and after the '=' of settings are checked where they are used. */
static gboolean
check(const Given *given, GError **error)
{
    const char *const *names = ct_show_quantities();
    if (given->quantity && !g_strv_contains(names, given->quantity)) {
        g_autofree char *all = g_strjoinv(", ", (char **)names);
        return refuse("--quantity", all, given->quantity, error);
    }
    if (given->channels < 0 || given->channels > 1 << 20) {
        g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, given->channels);
        return refuse("--channels", "1 to 1048576 channels", number, error);
    }
    return TRUE;
}

static void
print_warnings(char **warnings)
{
    for (guint i = 0; warnings && warnings[i]; i++)
        g_printerr("%s\n", warnings[i]);
}

static gboolean
write_picture(const char *output, const char *picture, gsize length, GError **error)
{
    if (output && !g_str_equal(output, "-"))
        return ct_command_write_output("-o", output, picture, (gssize)length, error);
    /* A failure is found when main flushes the output. */
    fwrite(picture, 1, length, stdout);
    return TRUE;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(Given) given = {0};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &given.output,
         "Write a picture, .png or .svg; -: to standard output. Left out: draw in the terminal",
         "PICTURE"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &given.format,
         "The picture's format whatever its name: png or svg", "FORMAT"},
        {"size", 0, 0, G_OPTION_ARG_STRING, &given.size, "The picture's size (default: 1200x800)",
         "WIDTHxHEIGHT"},
        {"decibels", 0, 0, G_OPTION_ARG_NONE, &given.decibels, "Draw powers in decibels", NULL},
        {"dark", 0, 0, G_OPTION_ARG_NONE, &given.dark, "Draw on a dark ground", NULL},
        {"axes", 0, 0, G_OPTION_ARG_STRING, &given.axes,
         "The axes across and upwards; one alone: draw lines", "X,Y"},
        {"quantity", 0, 0, G_OPTION_ARG_STRING, &given.quantity,
         "Draw value, power, amplitude, phase or validity", "NAME"},
        {"select", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.select,
         "Draw a part, by a parameter of the stage select, such as pol=1; may be repeated",
         "PARAMETER=VALUE"},
        {"channels", 0, 0, G_OPTION_ARG_INT64, &given.channels,
         "Draw spectra of voltages with this number of channels", "N"},
        {"stage", 0, 0, G_OPTION_ARG_STRING, &given.stage,
         "The source that reads the file (default: by the end of its name)", "STAGE"},
        {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.set,
         "Set a parameter of the source; may be repeated", "PARAMETER=VALUE"},
        {NULL},
    };
    if (!ct_command_parse(&ct_command_show, entries, &argc, &argv, 1, G_MAXINT, error) ||
        !check(&given, error))
        return FALSE;
    CtShow show = {
        .paths = (const char *const *)&argv[1],
        .stage = given.stage,
        .settings = (const char *const *)given.set,
        .selections = (const char *const *)given.select,
        .axes = given.axes,
        .quantity = given.quantity,
        .n_channels = given.channels,
        .decibels = given.decibels,
        .dark = given.dark,
    };
    gsize length;
    g_auto(GStrv) warnings = NULL;
    if (!choose_format(&given, &show, error))
        return FALSE;
    if (is_shown(given.output, &argv[1]))
        return refuse("-o", "another file than those that are shown", given.output, error);
    g_autofree char *picture = ct_show_draw(&show, &length, &warnings, error);
    if (!picture)
        return FALSE;
    print_warnings(warnings);
    return write_picture(given.output, picture, length, error);
}

const CtCommand ct_command_show = {
    .name = "show",
    .arguments = "FILE…",
    .summary = "Draw what a file contains",
    .run = run,
};
