/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in NumPy's .npy files, versions 1 to 3: headers, and loading small files as a whole. */
#include "cornerturn/npy.h"

#include "cornerturn/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NumPy itself refuses headers beyond 10000 bytes unless told otherwise. */
enum { LONGEST_HEADER = 1 << 16, PREFIX_BYTES = 10, ALIGNMENT = 64 };

static const char magic[] = "\x93NUMPY";

G_DEFINE_QUARK(ct - npy - error, ct_npy_error)

/* A cursor over the header's text, which is a Python literal: {'descr': '<f4', …}. */
typedef struct {
    const guint8 *at, *end;
} Text;

static gboolean malformed(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
malformed(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_HEADER, "not an .npy file: %s", message);
    return FALSE;
}

static void
skip_space(Text *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) && *text->at)
        text->at++;
}

static gboolean
accept(Text *text, char c)
{
    skip_space(text);
    if (text->at == text->end || *text->at != (guint8)c)
        return FALSE;
    text->at++;
    return TRUE;
}

/* Reads a quoted string; no key or type has escapes. */
static char *
read_string(Text *text)
{
    skip_space(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
        return NULL;
    const guint8 *begin = text->at + 1;
    const guint8 *close = memchr(begin, *text->at, text->end - begin);
    if (!close)
        return NULL;
    text->at = close + 1;
    return g_strndup((const char *)begin, close - begin);
}

static gboolean
read_word(Text *text, const char *word)
{
    skip_space(text);
    const gsize length = strlen(word);
    if ((gsize)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return FALSE;
    text->at += length;
    return TRUE;
}

static gboolean
read_length(Text *text, guint64 *length)
{
    skip_space(text);
    const guint8 *begin = text->at;
    guint64 value = 0;
    for (; text->at < text->end && g_ascii_isdigit(*text->at); text->at++) {
        if (value > (G_MAXINT64 - 9) / 10)
            return FALSE;
        value = 10 * value + (*text->at - '0');
    }
    if (text->at == begin || (*begin == '0' && text->at > begin + 1))
        return FALSE;
    /* Python 2 wrote long integers as 3L. */
    if (text->at < text->end && *text->at == 'L')
        text->at++;
    *length = value;
    return TRUE;
}

static gboolean
read_shape(Text *text, CtNpyHeader *header, GError **error)
{
    if (!accept(text, '('))
        return malformed(error, "its shape is not a tuple");
    header->n_axes = 0;
    while (!accept(text, ')')) {
        if (header->n_axes == CT_NPY_MAX_AXES)
            return malformed(error, "wants at most %d axes, but is given more", CT_NPY_MAX_AXES);
        if (!read_length(text, &header->shape[header->n_axes]))
            return malformed(error, "its shape has an entry that is not a length");
        header->n_axes++;
        if (accept(text, ','))
            continue;
        if (!accept(text, ')'))
            return malformed(error, "its shape has no end");
        break;
    }
    return TRUE;
}

/* Reads a type such as '<f4': byte order, kind, bytes. */
static gboolean
read_type(const char *type, CtNpyHeader *header, GError **error)
{
    static const struct {
        char kind;
        unsigned item_bytes;
    } known[] = {
        {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, {'u', 1}, {'u', 2},  {'u', 4},
        {'u', 8}, {'f', 2}, {'f', 4}, {'f', 8}, {'c', 8}, {'c', 16}, {'b', 1},
    };
    const gsize length = strlen(type);
    if ((length == 3 || length == 4) && strchr("<>|=", type[0])) {
        char *end;
        const guint64 item_bytes = g_ascii_strtoull(type + 2, &end, 10);
        for (gsize i = 0; *end == '\0' && i < G_N_ELEMENTS(known); i++)
            if (known[i].kind == type[1] && known[i].item_bytes == item_bytes) {
                header->kind = type[1];
                header->item_bytes = item_bytes;
                header->big_endian =
                    type[0] == '>' || (type[0] == '=' && G_BYTE_ORDER == G_BIG_ENDIAN);
                return TRUE;
            }
    }
    g_autofree char *printable = g_strescape(type, NULL);
    g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_TYPE,
                "wants elements that are integers, floating point or complex, but is given '%s'",
                printable);
    return FALSE;
}

static gboolean
read_type_entry(Text *text, CtNpyHeader *header, GError **error)
{
    skip_space(text);
    if (text->at < text->end && *text->at == '[') {
        g_set_error_literal(error, CT_NPY_ERROR, CT_NPY_ERROR_TYPE,
                            "wants elements of one number each, but is given records");
        return FALSE;
    }
    g_autofree char *type = read_string(text);
    if (!type)
        return malformed(error, "its type is not a string");
    return read_type(type, header, error);
}

enum { HAS_TYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4 };

static gboolean
read_entry(Text *text, CtNpyHeader *header, unsigned *seen, GError **error)
{
    g_autofree char *key = read_string(text);
    if (!key || !accept(text, ':'))
        return malformed(error, "its header is not a dictionary");
    unsigned entry;
    if (g_str_equal(key, "descr")) {
        entry = HAS_TYPE;
        if (!read_type_entry(text, header, error))
            return FALSE;
    } else if (g_str_equal(key, "fortran_order")) {
        entry = HAS_ORDER;
        header->fortran = read_word(text, "True");
        if (!header->fortran && !read_word(text, "False"))
            return malformed(error, "its fortran_order is neither True nor False");
    } else if (g_str_equal(key, "shape")) {
        entry = HAS_SHAPE;
        if (!read_shape(text, header, error))
            return FALSE;
    } else {
        g_autofree char *printable = g_strescape(key, NULL);
        return malformed(error, "its header has an unknown key '%s'", printable);
    }
    if (*seen & entry)
        return malformed(error, "its header has '%s' twice", key);
    *seen |= entry;
    return TRUE;
}

static gboolean
read_dictionary(Text *text, CtNpyHeader *header, GError **error)
{
    if (!accept(text, '{'))
        return malformed(error, "its header is not a dictionary");
    unsigned seen = 0;
    while (!accept(text, '}')) {
        if (!read_entry(text, header, &seen, error))
            return FALSE;
        if (accept(text, ','))
            continue;
        if (!accept(text, '}'))
            return malformed(error, "its header has no end");
        break;
    }
    skip_space(text);
    if (text->at != text->end)
        return malformed(error, "its header goes on after the dictionary");
    if (seen != (HAS_TYPE | HAS_ORDER | HAS_SHAPE))
        return malformed(error, "its header lacks '%s'",
                         !(seen & HAS_TYPE)    ? "descr"
                         : !(seen & HAS_ORDER) ? "fortran_order"
                                               : "shape");
    return TRUE;
}

/* Sets n_items to the product of the shape. FALSE if the bytes do not fit in 63 bits; an array with
 * an axis of length 0 always fits. */
static gboolean
count_items(CtNpyHeader *header)
{
    header->n_items = 1;
    gboolean fits = TRUE;
    for (unsigned i = 0; i < header->n_axes; i++) {
        if (header->shape[i] == 0) {
            header->n_items = 0;
            return TRUE;
        }
        fits = fits && header->n_items <= G_MAXINT64 / header->shape[i] / header->item_bytes;
        header->n_items = fits ? header->n_items * header->shape[i] : 1;
    }
    return fits;
}

gboolean
ct_npy_header_parse(const guint8 *bytes, gsize length, CtNpyHeader *header, GError **error)
{
    if (length < PREFIX_BYTES || memcmp(bytes, magic, 6) != 0)
        return malformed(error, "it does not begin with \\x93NUMPY");
    const unsigned version = bytes[6];
    if (version < 1 || version > 3 || bytes[7] != 0)
        return malformed(error, "wants version 1.0, 2.0 or 3.0, but is given %u.%u", version,
                         bytes[7]);
    const gsize begin = version == 1 ? PREFIX_BYTES : PREFIX_BYTES + 2;
    if (length < begin)
        return malformed(error, "it ends within its header");
    gsize header_length = bytes[8] | bytes[9] << 8;
    if (version > 1)
        header_length |= (gsize)bytes[10] << 16 | (gsize)bytes[11] << 24;
    if (header_length > LONGEST_HEADER)
        return malformed(error, "wants a header of at most %d bytes, but is given %" G_GSIZE_FORMAT,
                         LONGEST_HEADER, header_length);
    if (length - begin < header_length)
        return malformed(error, "it ends within its header");

    CtNpyHeader read = {.header_bytes = begin + header_length};
    Text text = {bytes + begin, bytes + begin + header_length};
    if (!read_dictionary(&text, &read, error))
        return FALSE;
    if (!count_items(&read))
        return malformed(error, "its shape is larger than any file");
    *header = read;
    return TRUE;
}

GBytes *
ct_npy_header_format(const CtNpyHeader *header)
{
    enum { WIDEST_LENGTH = 22, FIXED_TEXT = 80 };
    g_return_val_if_fail(header->n_axes <= CT_NPY_MAX_AXES, NULL);

    g_autoptr(GString) text = g_string_new(NULL);
    const char order = header->item_bytes == 1 ? '|' : header->big_endian ? '>' : '<';
    g_string_append_printf(text, "{'descr': '%c%c%u', 'fortran_order': %s, 'shape': (", order,
                           header->kind, header->item_bytes, header->fortran ? "True" : "False");
    for (unsigned i = 0; i < header->n_axes; i++)
        g_string_append_printf(text, i ? ", %" G_GUINT64_FORMAT : "%" G_GUINT64_FORMAT,
                               header->shape[i]);
    g_string_append(text, header->n_axes == 1 ? ",), }" : "), }");

    const gsize room = PREFIX_BYTES + FIXED_TEXT + WIDEST_LENGTH * header->n_axes;
    const gsize total = (room + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    guint8 *bytes = g_malloc(total);
    memset(bytes, ' ', total);
    memcpy(bytes, magic, 6);
    bytes[6] = 1;
    bytes[7] = 0;
    bytes[8] = (total - PREFIX_BYTES) & 0xff;
    bytes[9] = (total - PREFIX_BYTES) >> 8;
    memcpy(bytes + PREFIX_BYTES, text->str, text->len);
    bytes[total - 1] = '\n';
    return g_bytes_new_take(bytes, total);
}

static gboolean
fail_with_errno(GError **error, const char *path, const char *what)
{
    const int saved = errno;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(saved), "%s: %s: %s", path, what,
                g_strerror(saved));
    return FALSE;
}

/* Reads until `length` bytes are read or the file ends. Returns the number of bytes, or -1. */
static gssize
read_fully(int fd, guint8 *bytes, gsize length)
{
    gsize done = 0;
    while (done < length) {
        const gssize n = read(fd, bytes + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += n;
    }
    return done;
}

gboolean
ct_npy_read_header(const char *path, int fd, CtNpyHeader *header, GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_with_errno(error, path, "can't be read");
    if (!S_ISREG(status.st_mode)) {
        g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_HEADER, "%s: not an .npy file: not a file",
                    path);
        return FALSE;
    }
    const gsize room = LONGEST_HEADER + PREFIX_BYTES + 2;
    g_autofree guint8 *bytes = g_malloc(room);
    const gssize length = read_fully(fd, bytes, room);
    if (length < 0)
        return fail_with_errno(error, path, "can't be read");
    CtNpyHeader read;
    if (!ct_npy_header_parse(bytes, length, &read, error)) {
        g_prefix_error(error, "%s: ", path);
        return FALSE;
    }
    const guint64 wanted = read.n_items * read.item_bytes;
    if (status.st_size < (gint64)read.header_bytes) {
        g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_LENGTH,
                    "%s: wants a file of known length, but is given one that says %" G_GINT64_FORMAT
                    " bytes and holds more: make a copy of it",
                    path, (gint64)status.st_size);
        return FALSE;
    }
    const guint64 given = status.st_size - read.header_bytes;
    if (given < wanted) {
        g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_LENGTH,
                    "%s: wants %" G_GUINT64_FORMAT
                    " bytes of data as its header says, but is given "
                    "%" G_GUINT64_FORMAT " (truncated)",
                    path, wanted, given);
        return FALSE;
    }
    if (lseek(fd, read.header_bytes, SEEK_SET) < 0)
        return fail_with_errno(error, path, "can't be read");
    *header = read;
    return TRUE;
}

gboolean
ct_npy_open(const char *path, CtNpyHeader *header, int *fd, GError **error)
{
    const int opened = g_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (opened < 0)
        return fail_with_errno(error, path, "can't be opened");
    if (!ct_npy_read_header(path, opened, header, error)) {
        close(opened);
        return FALSE;
    }
    if (fd)
        *fd = opened;
    else
        close(opened);
    return TRUE;
}

void
ct_npy_swap(void *values, gsize n, unsigned value_bytes)
{
    if (value_bytes == 2) {
        guint16 *v = values;
        for (gsize i = 0; i < n; i++)
            v[i] = GUINT16_SWAP_LE_BE(v[i]);
    } else if (value_bytes == 4) {
        guint32 *v = values;
        for (gsize i = 0; i < n; i++)
            v[i] = GUINT32_SWAP_LE_BE(v[i]);
    } else if (value_bytes == 8) {
        guint64 *v = values;
        for (gsize i = 0; i < n; i++)
            v[i] = GUINT64_SWAP_LE_BE(v[i]);
    }
}

static double
half_to_double(guint16 half)
{
    const int exponent = half >> 10 & 31;
    const int mantissa = half & 1023;
    const double magnitude = exponent == 0   ? ldexp(mantissa, -24)
                             : exponent < 31 ? ldexp(mantissa + 1024, exponent - 25)
                             : mantissa == 0 ? HUGE_VAL
                                             : NAN;
    return half & 0x8000 ? -magnitude : magnitude;
}

/* One real value in native byte order. A complex number (kind 'c') is read as two of kind 'f'. */
static double
value_to_double(const guint8 *at, char kind, unsigned bytes)
{
    union {
        gint8 i1;
        guint8 u1;
        gint16 i2;
        guint16 u2;
        gint32 i4;
        guint32 u4;
        gint64 i8;
        guint64 u8;
        float f4;
        double f8;
    } value;
    memcpy(&value, at, bytes);
    if (kind == 'i')
        return bytes == 1 ? value.i1 : bytes == 2 ? value.i2 : bytes == 4 ? value.i4 : value.i8;
    if (kind == 'f')
        return bytes == 2 ? half_to_double(value.u2) : bytes == 4 ? (double)value.f4 : value.f8;
    return bytes == 1 ? value.u1 : bytes == 2 ? value.u2 : bytes == 4 ? value.u4 : value.u8;
}

/* Converts items of a file (in native byte order, in the file's axis order) to items of the
 * array. */
static void
convert_items(const CtNpyHeader *header, const guint8 *items, CtNpyArray *array)
{
    const unsigned parts_in = header->kind == 'c' ? 2 : 1, parts_out = array->kind == 'c' ? 2 : 1;
    const unsigned bytes_in = header->item_bytes / parts_in;
    const unsigned bytes_out = array->item_bytes / parts_out;
    const char kind_in = header->kind == 'c' ? 'f' : header->kind;

    gsize index[CT_NPY_MAX_AXES] = {0};
    for (gsize i = 0; i < array->n_items; i++) {
        gsize from = i;
        if (header->fortran) {
            from = 0;
            for (unsigned a = header->n_axes; a-- > 0;)
                from = from * header->shape[a] + index[a];
            for (unsigned a = header->n_axes; a-- > 0 && ++index[a] == header->shape[a];)
                index[a] = 0;
        }
        for (unsigned part = 0; part < parts_out; part++) {
            const guint8 *at = items + from * header->item_bytes + part * bytes_in;
            const double value = part < parts_in ? value_to_double(at, kind_in, bytes_in) : 0;
            if (bytes_out == 4)
                ((float *)array->data)[i * parts_out + part] = (float)value;
            else
                ((double *)array->data)[i * parts_out + part] = value;
        }
    }
}

CtNpyArray *
ct_npy_load(const char *path, char kind, unsigned item_bytes, GError **error)
{
    g_return_val_if_fail((kind == 'f' && (item_bytes == 4 || item_bytes == 8)) ||
                             (kind == 'c' && (item_bytes == 8 || item_bytes == 16)),
                         NULL);
    CtNpyHeader header;
    int fd;
    if (!ct_npy_open(path, &header, &fd, error))
        return NULL;
    const gsize bytes = header.n_items * header.item_bytes;
    g_autofree guint8 *items = ct_table_new(header.n_items, header.item_bytes, path, error);
    const gssize given = items ? read_fully(fd, items, bytes) : -1;
    close(fd);
    if (!items)
        return NULL;
    if (given < 0 || (gsize)given < bytes) {
        g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_LENGTH,
                    "%s: can't read its %" G_GSIZE_FORMAT " bytes of data", path, bytes);
        return NULL;
    }
    if (header.kind == 'c' && kind == 'f') {
        g_set_error(error, CT_NPY_ERROR, CT_NPY_ERROR_TYPE,
                    "%s: wants real elements, but is given complex ones", path);
        return NULL;
    }
    if (header.big_endian != (G_BYTE_ORDER == G_BIG_ENDIAN)) {
        const unsigned parts = header.kind == 'c' ? 2 : 1;
        ct_npy_swap(items, header.n_items * parts, header.item_bytes / parts);
    }
    gpointer data = ct_table_new(header.n_items, item_bytes, path, error);
    if (!data)
        return NULL;
    CtNpyArray *array = g_new0(CtNpyArray, 1);
    *array = (CtNpyArray){
        .kind = kind,
        .item_bytes = item_bytes,
        .n_axes = header.n_axes,
        .n_items = header.n_items,
        .data = data,
    };
    for (unsigned i = 0; i < header.n_axes; i++)
        array->shape[i] = header.shape[i];
    convert_items(&header, items, array);
    return array;
}

void
ct_npy_array_free(CtNpyArray *array)
{
    if (!array)
        return;
    g_free(array->data);
    g_free(array);
}

char *
ct_npy_shape_string(const CtNpyArray *array)
{
    GString *text = g_string_new("(");
    for (unsigned i = 0; i < array->n_axes; i++)
        g_string_append_printf(text, i ? ", %" G_GSIZE_FORMAT : "%" G_GSIZE_FORMAT,
                               array->shape[i]);
    g_string_append(text, array->n_axes == 1 ? ",)" : ")");
    return g_string_free(text, FALSE);
}
