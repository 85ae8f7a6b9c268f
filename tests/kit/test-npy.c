/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the .npy reader: good and bad headers, every element type, both orders. */
#include "cornerturn/npy.h"

#include <glib/gstdio.h>
#include <string.h>

/* A header of the version with this text, padded as NumPy does. */
static GByteArray *
make_header(unsigned version, const char *text)
{
    GByteArray *bytes = g_byte_array_new();
    const gsize begin = version == 1 ? 10 : 12;
    const gsize length = (begin + strlen(text) + 64) / 64 * 64 - begin;
    g_byte_array_append(bytes, (const guint8 *)"\x93NUMPY", 6);
    g_byte_array_append(bytes, (const guint8[]){version, 0}, 2);
    g_byte_array_append(bytes, (const guint8[]){length & 255, length >> 8, 0, 0}, begin - 8);
    g_byte_array_append(bytes, (const guint8 *)text, strlen(text));
    while (bytes->len < begin + length - 1)
        g_byte_array_append(bytes, (const guint8 *)" ", 1);
    g_byte_array_append(bytes, (const guint8 *)"\n", 1);
    return bytes;
}

static void
test_header(void)
{
    static const char *const texts[] = {
        "{'descr': '>c8', 'fortran_order': False, 'shape': (3, 4, 5), }",
        "{\"shape\":(3,4,5),\"fortran_order\":False,\"descr\":\">c8\"}",
        " { 'shape' : ( 3L, 4L , 5L ) , 'descr': '>c8', 'fortran_order': False } ",
    };
    for (unsigned version = 1; version <= 3; version++)
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
            g_autoptr(GByteArray) bytes = make_header(version, texts[i]);
            g_autoptr(GError) error = NULL;
            CtNpyHeader header;
            g_assert_true(ct_npy_header_parse(bytes->data, bytes->len, &header, &error));
            g_assert_no_error(error);
            g_assert_cmpint(header.kind, ==, 'c');
            g_assert_cmpuint(header.item_bytes, ==, 8);
            g_assert_true(header.big_endian);
            g_assert_false(header.fortran);
            g_assert_cmpuint(header.n_axes, ==, 3);
            g_assert_cmpuint(header.shape[2], ==, 5);
            g_assert_cmpuint(header.n_items, ==, 60);
            g_assert_cmpuint(header.header_bytes, ==, bytes->len);
        }
}

static void
test_header_errors(void)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "not an .npy file: its header is not a dictionary"},
        {"[]", "not an .npy file: its header is not a dictionary"},
        {"{'descr' '<f4'}", "not an .npy file: its header is not a dictionary"},
        {"{'descr': '<f4'", "not an .npy file: its header has no end"},
        {"{'descr': '<f4'}", "not an .npy file: its header lacks 'fortran_order'"},
        {"{'shape': (), 'fortran_order': True}", "not an .npy file: its header lacks 'descr'"},
        {"{'descr': '<f4', 'fortran_order': True}", "not an .npy file: its header lacks 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4'}", "not an .npy file: its header has 'descr' twice"},
        {"{'colour': 1}", "not an .npy file: its header has an unknown key 'colour'"},
        {"{'descr': 4}", "not an .npy file: its type is not a string"},
        {"{'fortran_order': 1}", "not an .npy file: its fortran_order is neither True nor False"},
        {"{'shape': 3}", "not an .npy file: its shape is not a tuple"},
        {"{'shape': (3", "not an .npy file: its shape has no end"},
        {"{'shape': (-3,)}", "not an .npy file: its shape has an entry that is not a length"},
        {"{'shape': (99999999999999999999,)}",
         "not an .npy file: its shape has an entry that is not a length"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "not an .npy file: its shape is larger than any file"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} more",
         "not an .npy file: its header goes on after the dictionary"},
        {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
         "not an .npy file: wants at most 32 axes, but is given more"},
        {"{'descr': '<U5'}", "wants elements that are integers, floating point or complex, but is "
                             "given '<U5'"},
        {"{'descr': '|O'}", "wants elements that are integers, floating point or complex, but is "
                            "given '|O'"},
        {"{'descr': [('x', '<f4')]}", "wants elements of one number each, but is given records"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GByteArray) bytes = make_header(1, wrong[i].text);
        g_autoptr(GError) error = NULL;
        CtNpyHeader header;
        g_assert_false(ct_npy_header_parse(bytes->data, bytes->len, &header, &error));
        g_assert_nonnull(error);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
}

/* A header cut anywhere is refused, and nothing beyond the cut is read (the copy has exactly that
 * length). */
static void
test_header_cut(void)
{
    g_autoptr(GByteArray) bytes =
        make_header(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
    for (gsize length = 0; length < bytes->len; length++) {
        g_autofree guint8 *cut = g_memdup2(bytes->data, length);
        g_autoptr(GError) error = NULL;
        CtNpyHeader header;
        g_assert_false(ct_npy_header_parse(cut, length, &header, &error));
        g_assert_error(error, CT_NPY_ERROR, CT_NPY_ERROR_HEADER);
    }
    bytes->data[6] = 4;
    g_autoptr(GError) error = NULL;
    CtNpyHeader header;
    g_assert_false(ct_npy_header_parse(bytes->data, bytes->len, &header, &error));
    g_assert_cmpstr(error->message, ==,
                    "not an .npy file: wants version 1.0, 2.0 or 3.0, but is given 4.0");
}

/* A formatted header is parsed to the same; its length depends only on the number of axes. */
static void
test_format(void)
{
    gsize length = 0;
    for (guint64 n = 0; n < (guint64)1 << 59; n = 17 * n + 1) {
        const CtNpyHeader wanted = {
            .kind = 'i', .item_bytes = 2, .fortran = n & 1, .n_axes = 3, .shape = {n, 2, 1}};
        g_autoptr(GBytes) bytes = ct_npy_header_format(&wanted);
        g_assert_true(length == 0 || length == g_bytes_get_size(bytes));
        length = g_bytes_get_size(bytes);
        g_assert_cmpuint(length % 64, ==, 0);

        g_autoptr(GError) error = NULL;
        CtNpyHeader given;
        g_assert_true(ct_npy_header_parse(g_bytes_get_data(bytes, NULL), length, &given, &error));
        g_assert_cmpint(given.kind, ==, 'i');
        g_assert_cmpuint(given.item_bytes, ==, 2);
        g_assert_cmpint(given.fortran, ==, wanted.fortran);
        g_assert_cmpuint(given.shape[0], ==, n);
        g_assert_cmpuint(given.header_bytes, ==, length);
    }
    const CtNpyHeader scalar = {.kind = 'f', .item_bytes = 8};
    g_autoptr(GBytes) bytes = ct_npy_header_format(&scalar);
    CtNpyHeader given;
    g_assert_true(
        ct_npy_header_parse(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), &given, NULL));
    g_assert_cmpuint(given.n_axes, ==, 0);
    g_assert_cmpuint(given.n_items, ==, 1);
}

typedef struct {
    char *folder, *path;
} Folder;

static void
set_up(Folder *folder, gconstpointer data G_GNUC_UNUSED)
{
    folder->folder = g_dir_make_tmp("test-npy-XXXXXX", NULL);
    folder->path = g_build_filename(folder->folder, "x.npy", NULL);
}

static void
tear_down(Folder *folder, gconstpointer data G_GNUC_UNUSED)
{
    g_unlink(folder->path);
    g_rmdir(folder->folder);
    g_free(folder->path);
    g_free(folder->folder);
}

static void
write_file(const Folder *folder, const char *text, const void *data, gsize length)
{
    g_autoptr(GByteArray) bytes = make_header(1, text);
    g_byte_array_append(bytes, data, length);
    g_assert_true(g_file_set_contents(folder->path, (const char *)bytes->data, bytes->len, NULL));
}

static void
test_load_types(Folder *folder, gconstpointer data G_GNUC_UNUSED)
{
    static const struct {
        const char *type;
        guint8 bytes[16]; /* the element is −2; unsigned 200; complex −2 + 3i */
        gsize length;
        double real, imaginary;
    } elements[] = {
        {"|i1", {0xfe}, 1, -2, 0},
        {"|u1", {200}, 1, 200, 0},
        {"|b1", {1}, 1, 1, 0},
        {"<i2", {0xfe, 0xff}, 2, -2, 0},
        {">i2", {0xff, 0xfe}, 2, -2, 0},
        {"<u2", {200, 0}, 2, 200, 0},
        {"<i4", {0xfe, 0xff, 0xff, 0xff}, 4, -2, 0},
        {">u4", {0, 0, 0, 200}, 4, 200, 0},
        {"<i8", {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, -2, 0},
        {">u8", {0, 0, 0, 0, 0, 0, 0, 200}, 8, 200, 0},
        {"<f2", {0x00, 0xc0}, 2, -2, 0},
        {">f2", {0x00, 0x01}, 2, 1.0 / (1 << 24), 0},
        {"<f4", {0, 0, 0, 0xc0}, 4, -2, 0},
        {">f8", {0xc0, 0, 0, 0, 0, 0, 0, 0}, 8, -2, 0},
        {"<c8", {0, 0, 0, 0xc0, 0, 0, 0x40, 0x40}, 8, -2, 3},
        {">c16", {0xc0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x08, 0, 0, 0, 0, 0, 0}, 16, -2, 3},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(elements); i++) {
        g_autofree char *text = g_strdup_printf(
            "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }", elements[i].type);
        write_file(folder, text, elements[i].bytes, elements[i].length);
        g_autoptr(GError) error = NULL;
        g_autoptr(CtNpyArray) doubles = ct_npy_load(folder->path, 'c', 16, &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(((double *)doubles->data)[0], ==, elements[i].real);
        g_assert_cmpfloat(((double *)doubles->data)[1], ==, elements[i].imaginary);
        g_autoptr(CtNpyArray) floats = ct_npy_load(folder->path, 'c', 8, &error);
        g_assert_cmpfloat(((float *)floats->data)[0], ==, (float)elements[i].real);
        g_autoptr(CtNpyArray) reals = ct_npy_load(folder->path, 'f', 4, &error);
        if (elements[i].type[1] == 'c') {
            g_autofree char *message =
                g_strdup_printf("%s: wants real elements, but is given complex ones", folder->path);
            g_assert_cmpstr(error->message, ==, message);
            continue;
        }
        g_assert_no_error(error);
        g_assert_cmpfloat(((float *)reals->data)[0], ==, (float)elements[i].real);
    }
}

static void
test_load_order(Folder *folder, gconstpointer data G_GNUC_UNUSED)
{
    const guint8 values[6] = {0, 1, 2, 3, 4, 5};
    g_autoptr(GError) error = NULL;
    write_file(folder, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}", values, 6);
    g_autoptr(CtNpyArray) c_order = ct_npy_load(folder->path, 'f', 4, &error);
    g_assert_no_error(error);
    write_file(folder, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", values, 6);
    g_autoptr(CtNpyArray) fortran = ct_npy_load(folder->path, 'f', 8, &error);
    g_assert_no_error(error);
    g_autofree char *shape = ct_npy_shape_string(fortran);
    g_assert_cmpstr(shape, ==, "(2, 3)");
    for (gsize i = 0; i < 6; i++) {
        g_assert_cmpfloat(((float *)c_order->data)[i], ==, i);
        g_assert_cmpfloat(((double *)fortran->data)[i], ==, i / 3 + 2 * (i % 3));
    }
}

static void
test_load_errors(Folder *folder, gconstpointer data G_GNUC_UNUSED)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_npy_load(folder->path, 'f', 4, &error));
    g_autofree char *missing =
        g_strdup_printf("%s: can't be opened: No such file or directory", folder->path);
    g_assert_cmpstr(error->message, ==, missing);
    g_clear_error(&error);

    write_file(folder, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", "12345678", 8);
    g_assert_null(ct_npy_load(folder->path, 'f', 4, &error));
    g_autofree char *truncated = g_strdup_printf(
        "%s: wants 24 bytes of data as its header says, but is given 8 (truncated)", folder->path);
    g_assert_cmpstr(error->message, ==, truncated);
    g_clear_error(&error);

    g_assert_true(g_file_set_contents(folder->path, "stages:\n", -1, NULL));
    g_assert_null(ct_npy_load(folder->path, 'f', 4, &error));
    g_autofree char *other =
        g_strdup_printf("%s: not an .npy file: it does not begin with \\x93NUMPY", folder->path);
    g_assert_cmpstr(error->message, ==, other);
    g_clear_error(&error);

    g_assert_null(ct_npy_load(folder->folder, 'f', 4, &error));
    g_autofree char *not_file = g_strdup_printf("%s: not an .npy file: not a file", folder->folder);
    g_assert_cmpstr(error->message, ==, not_file);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/npy/header", test_header);
    g_test_add_func("/npy/header-errors", test_header_errors);
    g_test_add_func("/npy/header-cut", test_header_cut);
    g_test_add_func("/npy/format", test_format);
    g_test_add("/npy/load-types", Folder, NULL, set_up, test_load_types, tear_down);
    g_test_add("/npy/load-order", Folder, NULL, set_up, test_load_order, tear_down);
    g_test_add("/npy/load-errors", Folder, NULL, set_up, test_load_errors, tear_down);
    return g_test_run();
}
