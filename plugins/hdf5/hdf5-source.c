/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.source: a stream from a dataset of an HDF5 file. */
#include "hdf5-filterbank.h"
#include "hdf5-stream.h"
#include "hdf5.h"

#include <cornerturn/kit/boxes.h>
#include <errno.h>
#include <hdf5_hl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .endings = (const char *const[]){".json", NULL},
     .help = "the file; several files, or a pattern for names (*), are one stream"},
    {.name = "dataset",
     .kind = CT_PARAM_STRING,
     .help = "the dataset with the samples, with its groups: /beam/data; left out: data, or the "
             "only one"},
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "the axes of the dataset: [time channel]; left out: as the file says"},
    SIGPROC_PRODUCTS_PARAM,
    CT_ARRAY_SOURCE_PARAMS,
    {NULL},
};

/* An open dataset. Its axis time is read as the slowest one. */
typedef struct {
    Hdf5Id file, data;
    Hdf5Id memory; /* the type of its elements in memory */
    gsize bytes;   /* of an element */
    guint n_dims;
    gint time; /* the axis of the dataset; −1: it has none */
    gint64 dims[CT_MAX_AXES];
} Array;

/* ---- the dataset ---- */

typedef struct {
    hid_t file;
    GPtrArray *names; /* of the datasets that are no scales */
} Search;

static herr_t
take_dataset(hid_t file, const char *name, const H5O_info_t *info, void *data)
{
    enum { MOST = 8 };
    Search *search = data;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    g_auto(Hdf5Id) found = H5Dopen2(file, name, H5P_DEFAULT);
    if (found >= 0 && H5DSis_scale(found) == 0)
        g_ptr_array_add(search->names, g_strdup(name));
    return search->names->len > MOST;
}

/* The name of the dataset that the parameter leaves out, allocated. */
static char *
find_dataset(const CtArrayFile *file, const CtParams *given, hid_t of, GError **error)
{
    g_auto(Hdf5Id) usual = hdf5_open(of, HDF5_DATA);
    if (usual >= 0 && H5Iget_type(usual) == H5I_DATASET)
        return g_strdup(HDF5_DATA);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    Search search = {of, names};
    H5Ovisit2(of, H5_INDEX_NAME, H5_ITER_INC, take_dataset, &search, H5O_INFO_BASIC);
    if (names->len == 1)
        return g_strdup(names->pdata[0]);
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    if (names->len > 1)
        ct_params_error(given, "path", error, "wants 'dataset' beside it, for %s has several: %s",
                        file->path, list);
    else
        hdf5_refuse(file, error, "wants a dataset, but is given none");
    return NULL;
}

static gboolean
open_dataset(Array *array, const CtArrayFile *file, const CtParams *given, GError **error)
{
    g_auto(Hdf5Id) access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    /* A sink that still writes holds the lock; what its header counts is there. */
    H5Pset_file_locking(access, FALSE, TRUE);
#endif
    array->file = H5Fopen(file->path, H5F_ACC_RDONLY, access);
    if (array->file < 0)
        return hdf5_error(error, file->path, "wants an HDF5 file");
    g_autofree char *name = ct_params_has(given, "dataset")
                                ? g_strdup(ct_params_string(given, "dataset"))
                                : find_dataset(file, given, array->file, error);
    if (!name)
        return FALSE;
    array->data = H5Dopen2(array->file, name, H5P_DEFAULT);
    if (array->data >= 0)
        return TRUE;
    g_autofree char *what = g_strdup_printf("wants the dataset '%s'", name);
    return hdf5_error(error, file->path, what);
}

static gboolean
take_dims(Array *array, const CtArrayFile *file, GError **error)
{
    hsize_t dims[H5S_MAX_RANK];
    g_auto(Hdf5Id) space = H5Dget_space(array->data);
    const int n = H5Sget_simple_extent_dims(space, dims, NULL);
    if (n < 1 || n > CT_MAX_AXES)
        return hdf5_refuse(file, error, "wants a dataset of 1 to %d axes, but is given %d",
                           CT_MAX_AXES, n);
    array->n_dims = (guint)n;
    for (guint a = 0; a < array->n_dims; a++) {
        if (dims[a] > G_MAXINT64)
            return hdf5_refuse(file, error, "wants axes that 63 bits count");
        array->dims[a] = (gint64)dims[a];
    }
    return TRUE;
}

/* ---- its axes and its type ---- */

/* The axes as the dataset names them: its attribute, its scales. */
static gboolean
read_layout(const Array *array, const CtArrayFile *file, const CtParams *given, CtLayout *layout,
            GError **error)
{
    g_autofree char *said = hdf5_get_text(array->data, "layout");
    g_autoptr(GString) text = g_string_new(said);
    if (!said) {
        g_string_append_c(text, '[');
        for (guint dim = 0; dim < array->n_dims; dim++) {
            g_autofree char *name = hdf5_axis_name(array->data, dim);
            if (!name)
                return ct_params_error(given, "path", error,
                                       "wants 'layout' beside it, for %s does not name axis %u of "
                                       "the dataset",
                                       file->path, dim);
            g_string_append_printf(text, "%s%s", dim > 0 ? " " : "", name);
        }
        g_string_append_c(text, ']');
    }
    g_autoptr(GError) cause = NULL;
    if (ct_layout_parse(layout, text->str, &cause))
        return TRUE;
    /* Further lines show the text. */
    cause->message[strcspn(cause->message, "\n")] = '\0';
    return ct_params_error(given, "path", error,
                           "wants 'layout' beside it, for the axes of %s can't be used: %s",
                           file->path, cause->message);
}

static gboolean
check_layout(const Array *array, const CtArrayFile *file, const CtLayout *layout, GError **error)
{
    g_autofree char *text = ct_layout_to_string(layout);
    gboolean good = !layout->any_order && layout->n_axes == array->n_dims;
    for (guint a = 0; a < layout->n_axes && good; a++)
        good = layout->axes[a].count == 0 && strcmp(layout->axes[a].name, "...") != 0 &&
               (strcmp(layout->axes[a].name, "complex") != 0 || array->dims[a] == 2);
    return good || hdf5_refuse(file, error,
                               "wants the %u axes of the dataset, slowest first (complex has 2 "
                               "elements), but is given %s",
                               array->n_dims, text);
}

/* Sets the type of the elements: that of the dataset, or the one that `layout` has. */
static gboolean
choose_type(Array *array, const CtArrayFile *file, const CtLayout *layout, CtType *type,
            GError **error)
{
    g_auto(Hdf5Id) given = H5Dget_type(array->data);
    *type = hdf5_find_type(given);
    if (*type == CT_TYPE_NONE)
        return hdf5_refuse(file, error,
                           "wants integers of 8 to 64 bits (unsigned: to 32), floats of 16, 32 or "
                           "64, or structs of two of them, r and i, but is given other elements");
    if (*type == CT_U8 && layout->types == 1u << CT_CI4)
        *type = CT_CI4;
    if (layout->types && !(layout->types & 1u << *type)) {
        g_autofree char *text = ct_layout_to_string(layout);
        return hdf5_refuse(file, error, "wants elements as '%s' says, but is given %s", text,
                           ct_type_info(*type)->name);
    }
    array->memory = hdf5_memory_type(given, *type);
    array->bytes = ct_type_info(*type)->bytes;
    return TRUE;
}

/* Adds the axes to the stream, and moves time to the slowest place of the file's layout. */
static gboolean
set_axes(Array *array, CtArrayFile *file, const CtLayout *layout, CtStream *stream, GError **error)
{
    guint n = 0;
    array->time = ct_layout_axis(layout, "time");
    if (array->time >= 0)
        file->layout.axes[n++] = layout->axes[array->time];
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        if ((gint)a != array->time)
            file->layout.axes[n++] = layout->axes[a];
        if (strcmp(name, "complex") != 0 && !ct_stream_add_axis(stream, name, array->dims[a]))
            return hdf5_refuse(file, error,
                               "wants axes of different names, but is given '%s' twice", name);
    }
    file->layout.n_axes = n;
    return TRUE;
}

static gboolean
open_array(Array *array, CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    const CtLayout *said = ct_params_layout(given, "layout");
    CtLayout layout = said ? *said : (CtLayout){0};
    CtType type;
    if ((!said && !read_layout(array, file, given, &layout, error)) ||
        !check_layout(array, file, &layout, error) ||
        !choose_type(array, file, &layout, &type, error) ||
        !set_axes(array, file, &layout, stream, error))
        return FALSE;
    file->layout.types = 1u << type;
    stream->type = ct_layout_axis(&layout, "complex") < 0 ? type : hdf5_complex_type(type);
    if (stream->type == CT_TYPE_NONE)
        return hdf5_refuse(file, error, "wants parts of complex elements, but is given %s",
                           ct_type_info(type)->name);
    return hdf5_stream_describe(file, given, array->file, array->data, &layout, stream, error);
}

static gboolean
open_filterbank(Array *array, CtArrayFile *file, const CtParams *given, CtStream *stream,
                GError **error)
{
    g_auto(SigprocHeader) header = {0};
    CtType type;
    if (array->n_dims != 3)
        return hdf5_refuse(file, error,
                           "wants the axes time, feed and channel of a filterbank, but is given %u",
                           array->n_dims);
    if (!choose_type(array, file, &(CtLayout){0}, &type, error) ||
        !hdf5_filterbank_read(file, array->data, array->dims, &header, error) ||
        !sigproc_stream_describe(file, given, &header, stream, error))
        return FALSE;
    stream->type = type;
    stream->axes[ct_stream_axis(stream, "time")].length = array->dims[0];
    file->layout.types = 1u << type;
    return TRUE;
}

static gboolean
open_file(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    Array *array = g_new0(Array, 1);
    file->self = array;
    array->file = array->data = array->memory = H5I_INVALID_HID;
    hdf5_begin();
    gboolean good = open_dataset(array, file, given, error) && take_dims(array, file, error);
    if (good && !ct_params_has(given, "layout") && hdf5_is_filterbank(array->file))
        good = open_filterbank(array, file, given, stream, error);
    else if (good)
        good = open_array(array, file, given, stream, error);
    hdf5_end();
    return good;
}

static void
clear(CtArrayFile *file)
{
    Array *array = file->self;
    if (!array)
        return;
    hdf5_begin();
    hdf5_close(array->memory);
    hdf5_close(array->data);
    hdf5_close(array->file);
    hdf5_end();
    g_free(array);
    file->self = NULL;
}

/* ---- samples ---- */

/* Reads samples in the order of the dataset. */
static gboolean
select_and_read(const CtArrayFile *file, gint64 first, gint64 n, guint8 *to, GError **error)
{
    const Array *array = file->self;
    hsize_t begin[CT_MAX_AXES] = {0}, count[CT_MAX_AXES];
    for (guint a = 0; a < array->n_dims; a++)
        count[a] = (hsize_t)array->dims[a];
    if (array->time >= 0) {
        begin[array->time] = (hsize_t)first;
        count[array->time] = (hsize_t)n;
    }
    g_auto(Hdf5Id) from = H5Dget_space(array->data);
    g_auto(Hdf5Id) in = H5Screate_simple((int)array->n_dims, count, NULL);
    return (H5Sselect_hyperslab(from, H5S_SELECT_SET, begin, NULL, count, NULL) >= 0 &&
            H5Dread(array->data, array->memory, in, from, H5P_DEFAULT, to) >= 0) ||
           hdf5_error(error, file->path, "the samples can't be read");
}

/* Called after a read: what is behind the end of a file, the library gives as zeros. */
static gboolean
check_length(const CtArrayFile *file, GError **error)
{
    struct stat now;
    if (fstat(file->fd, &now) != 0)
        return hdf5_refuse(file, error, "can't be read: %s", g_strerror(errno));
    return now.st_size >= file->length ||
           hdf5_refuse(file, error,
                       "wants %" G_GINT64_FORMAT " bytes, but is given %" G_GINT64_FORMAT
                       ": the file has become shorter",
                       file->length, (gint64)now.st_size);
}

static gboolean
read_part(const CtArrayFile *file, gint64 first, gint64 n, guint8 *to, GError **error)
{
    hdf5_begin();
    const gboolean good = select_and_read(file, first, n, to, error);
    hdf5_end();
    return good && check_length(file, error);
}

static gboolean
read_samples(const CtArrayFile *file, gint64 first, gint64 n, guint8 *to, GError **error)
{
    const Array *array = file->self;
    if (array->time <= 0)
        return read_part(file, first, n, to, error);
    CtBox box = {.n_axes = array->n_dims, .out = to};
    gint64 in = (gint64)array->bytes, out = in, elements = n;
    for (guint a = array->n_dims; a-- > 0;) {
        const gboolean is_time = (gint)a == array->time;
        const gint64 length = is_time ? n : array->dims[a];
        box.axes[a] = (CtBoxAxis){.length = length, .in = in, .out = out};
        in *= length;
        if (!is_time) {
            out *= length;
            elements *= length;
        }
    }
    box.axes[array->time].out = out;
    g_autofree guint8 *part = ct_table_new((gsize)elements, array->bytes, "samples", error);
    if (!part || !read_part(file, first, n, part, error))
        return FALSE;
    box.in = part;
    ct_box_copy(&box, array->bytes);
    return TRUE;
}

/* ---- the stage ---- */

static gboolean
describe(const CtParams *given, CtStream *stream, GError **error)
{
    if (stream->rate_num > 0 && ct_params_has(given, "sample_rate")) {
        gint64 numerator, denominator;
        ct_params_rational(given, "sample_rate", &numerator, &denominator);
        const gdouble rate = (gdouble)numerator / (gdouble)denominator;
        const gdouble said = ct_stream_sample_rate(stream);
        if (fabs(rate - said) > 1e-9 * said)
            return ct_params_error(given, "sample_rate", error,
                                   "wants that of the file, %.12g Hz, but is given %.12g Hz", said,
                                   rate);
    }
    return ct_array_source_describe(given, stream, error);
}

const CtArraySource hdf5_source_files = {
    .files = "path",
    .name = "HDF5 files",
    .open = open_file,
    .describe = describe,
    .read = read_samples,
    .clear = clear,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&hdf5_source_files, node, error);
}

const CtStage hdf5_source = {
    .name = "hdf5.source",
    .summary = "a stream from a dataset of an HDF5 file",
    .version = 1,
    .outputs = CT_PORTS({"samples", "{...}", 0, "the dataset, time slowest"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = (const char *const[]){".h5", ".hdf5", ".fbh5", NULL},
    .stands_for = "file.source",
};
