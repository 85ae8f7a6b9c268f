/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator's NVRTC: compiles a kernel's source to a shared object, with the C++ compiler that
 * belongs to the C compiler of the emulator. */
#include "emulator-image.h"
#include "emulator.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* values of nvrtcResult */
enum {
    NVRTC_INVALID_INPUT = 3,
    NVRTC_INVALID_PROGRAM = 4,
    NVRTC_COMPILATION = 6,
    NVRTC_INTERNAL = 11
};

struct CtNvrtcProgramOpaque {
    char *source, *name;
    GPtrArray *headers, *names;
    GBytes *image;
    GString *log;
};

static const char *const fixed_options[] = {
    "-std=c++17",
    "-w",
    "-fmax-errors=20",
    "-O1",
    "-g1",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-fstack-clash-protection",
    "-ftrivial-auto-var-init=pattern",
    EMULATOR_SANITIZE,
#ifndef EMULATOR_CHECKS
    "-fno-sanitize-recover=undefined",
#endif
};
static const char *const include_options[] = {
    "-DCT_EMULATED",
#ifdef EMULATOR_CHECKS
    "-DCT_EMULATED_CHECKS",
#endif
    "-I",
    ".",
    "-include",
    "emulator-kernel.h",
};
/* Files that a compiled kernel depends on besides its source. */
static const char *const own_headers[] = {
    "emulator-abi.h",     "emulator-kernel.h", "emulator-math.h",
    "emulator-vectors.h", "emulator-warp.h",   "emulator-warpgroup.h",
};

/* Those headers are in the library's folder. */
static struct {
    pthread_once_t once;
    char *library, *folder;
} place = {PTHREAD_ONCE_INIT, NULL, NULL};

static void
find_place(void)
{
    Dl_info self;
    if (dladdr(&place, &self) != 0)
        place.library = g_strdup(self.dli_fname);
    /* The library may be loaded by links, and the compiler runs in another folder. */
    char *real = realpath(place.library ? place.library : "", NULL);
    place.folder = g_path_get_dirname(real ? real : "");
    free(real);
}

static const char *
header_folder(void)
{
    pthread_once(&place.once, find_place);
    return place.folder;
}

static void
add_all(GPtrArray *words, const char *const *more, guint n)
{
    for (guint i = 0; i < n; i++)
        g_ptr_array_add(words, g_strdup(more[i]));
}

/* The definitions and the architecture among the options; only NVRTC needs the others. */
static GPtrArray *
definitions(int n_options, const char *const *options)
{
    static const char *const long_form = "--define-macro=";
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    for (int o = 0; o < n_options; o++) {
        const char *option = options[o], *architecture = strstr(option, "sm_");
        if (g_str_has_prefix(option, long_form))
            g_ptr_array_add(words, g_strconcat("-D", option + strlen(long_form), NULL));
        else if (strcmp(option, "-D") == 0 && o + 1 < n_options)
            g_ptr_array_add(words, g_strconcat("-D", options[++o], NULL));
        else if (g_str_has_prefix(option, "-D") || g_str_has_prefix(option, "-U"))
            g_ptr_array_add(words, g_strdup(option));
        else if (g_strrstr(option, "arch") && architecture)
            g_ptr_array_add(words, g_strdup_printf("-D__CUDA_ARCH__=%d0", atoi(architecture + 3)));
    }
    return words;
}

/* Runs a program in a folder; its output goes to the log. */
static gboolean
spawn(const char *folder, GPtrArray *words, GString *log)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *said = NULL;
    int status = -1;
    g_ptr_array_add(words, NULL);
    const gboolean begun = g_spawn_sync(folder, (char **)words->pdata, NULL,
                                        G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                                        NULL, NULL, &said, &status, &error);
    if (g_error_matches(error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
        g_string_append_printf(log,
                               "the emulator compiles kernels with %s, which is not installed (or "
                               "not in PATH)",
                               (const char *)words->pdata[0]);
    else
        g_string_append(log, begun ? said : error->message);
    return begun && g_spawn_check_wait_status(status, NULL);
}

static gboolean
write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    return g_mkdir_with_parents(parent, 0700) == 0 && g_file_set_contents(path, text, -1, NULL);
}

static char *
read_file(const char *folder, const char *name, gsize *bytes)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;
    return g_file_get_contents(path, &text, bytes, NULL) ? text : NULL;
}

static gboolean
preprocess(CtNvrtcProgram program, const char *folder, const GPtrArray *defined)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    add_all(words, (const char *[]){EMULATOR_COMPILER, "-E", "-x", "c++", "-o", "kernel.ii"}, 6);
    add_all(words, fixed_options, G_N_ELEMENTS(fixed_options));
    add_all(words, (const char *[]){"-I", header_folder()}, 2);
    add_all(words, include_options, G_N_ELEMENTS(include_options));
    add_all(words, (const char *const *)defined->pdata, defined->len);
    g_ptr_array_add(words, g_strdup(program->name));
    return spawn(folder, words, program->log);
}

static gboolean
rewrite(const char *folder)
{
    g_autofree char *text = read_file(folder, "kernel.ii", NULL);
    g_autofree char *rewritten = text ? emulator_rewrite(text) : NULL;
    return rewritten && write_file(folder, "rewritten.ii", rewritten);
}

static gboolean
compile(CtNvrtcProgram program, const char *folder)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    add_all(words,
            (const char *[]){EMULATOR_COMPILER, "-c", "-x", "c++-cpp-output", "-o", "kernel.o"}, 6);
    add_all(words, fixed_options, G_N_ELEMENTS(fixed_options));
    g_ptr_array_add(words, g_strdup("rewritten.ii"));
    return spawn(folder, words, program->log);
}

/* Links the object. Symbols of sanitizers and of the emulator are resolved when it is loaded. */
static gboolean
join(CtNvrtcProgram program, const char *folder)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    add_all(words,
            (const char *[]){EMULATOR_C_COMPILER, "-shared", "-o", "kernel.so", "kernel.o", "-lm"},
            6);
    return spawn(folder, words, program->log);
}

static void
remove_folder(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder && (name = g_dir_read_name(folder)) != NULL;) {
        g_autofree char *inner = g_build_filename(path, name, NULL);
        if (g_file_test(inner, G_FILE_TEST_IS_DIR))
            remove_folder(inner);
        else
            g_unlink(inner);
    }
    g_rmdir(path);
}

static gboolean
build_in(CtNvrtcProgram program, const char *folder, const GPtrArray *defined)
{
    gboolean built = write_file(folder, program->name, program->source);
    for (guint h = 0; built && h < program->headers->len; h++)
        built = write_file(folder, program->names->pdata[h], program->headers->pdata[h]);
    if (!built || !preprocess(program, folder, defined) || !rewrite(folder) ||
        !compile(program, folder) || !join(program, folder))
        return FALSE;
    gsize bytes;
    g_autofree char *object = read_file(folder, "kernel.so", &bytes);
    program->image = object ? emulator_image_new(object, bytes) : NULL;
    return program->image != NULL;
}

static void
add_text(GChecksum *checksum, const char *text)
{
    g_checksum_update(checksum, (const guchar *)text, (gssize)strlen(text) + 1);
}

/* A checksum of everything besides the source that an image depends on: the compiler, the headers,
 * and this library, which has the options and rewrites the source. */
static struct {
    pthread_once_t once;
    GChecksum *checksum;
} own = {PTHREAD_ONCE_INIT, NULL};

static void
sum_own(void)
{
    own.checksum = g_checksum_new(G_CHECKSUM_SHA256);
    add_text(own.checksum, EMULATOR_COMPILER " " EMULATOR_VERSION);
    for (guint h = 0; h < G_N_ELEMENTS(own_headers); h++) {
        g_autofree char *text = read_file(header_folder(), own_headers[h], NULL);
        add_text(own.checksum, text ?: "");
    }
    g_autofree char *library = NULL;
    gsize bytes;
    if (place.library && g_file_get_contents(place.library, &library, &bytes, NULL))
        g_checksum_update(own.checksum, (const guchar *)library, (gssize)bytes);
}

static GChecksum *
own_checksum(void)
{
    pthread_once(&own.once, sum_own);
    return g_checksum_copy(own.checksum);
}

/* The cache's file for this program's image; NULL if there is no cache. */
static char *
cache_path(CtNvrtcProgram program, const GPtrArray *defined)
{
    const char *folder = g_getenv("CORNERTURN_EMULATOR_CACHE");
    if (!folder || !*folder || g_mkdir_with_parents(folder, 0700) != 0)
        return NULL;
    g_autoptr(GChecksum) checksum = own_checksum();
    for (guint d = 0; d < defined->len; d++)
        add_text(checksum, defined->pdata[d]);
    for (guint h = 0; h < program->headers->len; h++) {
        add_text(checksum, program->names->pdata[h]);
        add_text(checksum, program->headers->pdata[h]);
    }
    add_text(checksum, program->name);
    add_text(checksum, program->source);
    return g_build_filename(folder, g_checksum_get_string(checksum), NULL);
}

/* Gives a minor version that no compiler of NVIDIA's and no other build of the emulator has, so
 * that programs which keep images by version never confuse them. */
int
nvrtcVersion(int *major, int *minor)
{
    g_autoptr(GChecksum) checksum = own_checksum();
    char digits[8] = "";
    memcpy(digits, g_checksum_get_string(checksum), 6);
    *major = 13;
    *minor = 1000 + (int)g_ascii_strtoull(digits, NULL, 16);
    return emulator_injected(__func__, NVRTC_INTERNAL);
}

int
nvrtcCreateProgram(CtNvrtcProgram *result, const char *source, const char *name, int n_headers,
                   const char *const *headers, const char *const *include_names)
{
    const int failure = emulator_injected(__func__, NVRTC_INTERNAL);
    if (failure)
        return failure;
    if (!source)
        return NVRTC_INVALID_INPUT;
    CtNvrtcProgram program = g_new0(struct CtNvrtcProgramOpaque, 1);
    program->source = g_strdup(source);
    program->name = g_path_get_basename(name && *name ? name : "default_program");
    program->headers = g_ptr_array_new_with_free_func(g_free);
    program->names = g_ptr_array_new_with_free_func(g_free);
    add_all(program->headers, headers, (guint)n_headers);
    add_all(program->names, include_names, (guint)n_headers);
    program->log = g_string_new(NULL);
    *result = program;
    emulator_count(EMULATOR_PROGRAM, 1);
    return 0;
}

int
nvrtcDestroyProgram(CtNvrtcProgram *program)
{
    if (!program || !*program)
        return NVRTC_INVALID_PROGRAM;
    g_free((*program)->source);
    g_free((*program)->name);
    g_ptr_array_unref((*program)->headers);
    g_ptr_array_unref((*program)->names);
    g_clear_pointer(&(*program)->image, g_bytes_unref);
    g_string_free((*program)->log, TRUE);
    g_clear_pointer(program, g_free);
    emulator_count(EMULATOR_PROGRAM, -1);
    return 0;
}

int
nvrtcCompileProgram(CtNvrtcProgram program, int n_options, const char *const *options)
{
    const int failure = emulator_injected(__func__, NVRTC_INTERNAL);
    if (failure)
        return failure;
    g_autoptr(GPtrArray) defined = definitions(n_options, options);
    g_autofree char *cached = cache_path(program, defined);
    g_clear_pointer(&program->image, g_bytes_unref);
    gsize bytes;
    char *image;
    if (cached && g_file_get_contents(cached, &image, &bytes, NULL)) {
        program->image = g_bytes_new_take(image, bytes);
        return 0;
    }
    g_autofree char *folder = emulator_folder("cornerturn-kernel");
    if (!folder)
        return NVRTC_INTERNAL;
    const gboolean built = build_in(program, folder, defined);
    remove_folder(folder);
    if (built && cached) {
        gconstpointer data = g_bytes_get_data(program->image, &bytes);
        g_file_set_contents(cached, data, (gssize)bytes, NULL);
    }
    return built ? 0 : NVRTC_COMPILATION;
}

int
nvrtcGetCUBINSize(CtNvrtcProgram program, size_t *bytes)
{
    if (!program->image)
        return NVRTC_INVALID_PROGRAM;
    *bytes = g_bytes_get_size(program->image);
    return 0;
}

int
nvrtcGetCUBIN(CtNvrtcProgram program, char *image)
{
    if (!program->image)
        return NVRTC_INVALID_PROGRAM;
    gsize bytes;
    gconstpointer data = g_bytes_get_data(program->image, &bytes);
    memcpy(image, data, bytes);
    return 0;
}

int
nvrtcGetProgramLogSize(CtNvrtcProgram program, size_t *bytes)
{
    *bytes = program->log->len + 1;
    return 0;
}

int
nvrtcGetProgramLog(CtNvrtcProgram program, char *log)
{
    memcpy(log, program->log->str, program->log->len + 1);
    return 0;
}
