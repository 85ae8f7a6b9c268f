/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the HDF5 library: the lock, types, attributes, errors. */
#include "hdf5-objects.h"

#include <cornerturn/error.h>
#include <cornerturn/stage.h>
#include <string.h>

void
hdf5_begin(void)
{
    ct_library_lock("hdf5");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void
hdf5_end(void)
{
    ct_library_unlock("hdf5");
}

/* The last one that the library tells is the cause. */
static herr_t
take_cause(G_GNUC_UNUSED unsigned n, const H5E_error2_t *cause, void *data)
{
    g_free(*(char **)data);
    *(char **)data = g_strdup(cause->desc);
    return 0;
}

gboolean
hdf5_error(GError **error, const char *path, const char *what)
{
    g_autofree char *cause = NULL;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take_cause, &cause);
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: %s", path, what,
                cause && *cause ? cause : "the HDF5 library does not say why");
    return FALSE;
}

void
hdf5_close(Hdf5Id id)
{
    if (id < 0)
        return;
    switch (H5Iget_type(id)) {
    case H5I_FILE:
        H5Fclose(id);
        break;
    case H5I_GROUP:
        H5Gclose(id);
        break;
    case H5I_DATATYPE:
        H5Tclose(id);
        break;
    case H5I_DATASPACE:
        H5Sclose(id);
        break;
    case H5I_DATASET:
        H5Dclose(id);
        break;
    case H5I_ATTR:
        H5Aclose(id);
        break;
    default:
        H5Pclose(id);
    }
}

/* ---- types ---- */

/* IEEE 754 of 16 bits. */
static hid_t
half_type(void)
{
    enum { BYTES = 2, SIGN = 15, EXPONENT = 10, EXPONENT_BITS = 5, FRACTION_BITS = 10, BIAS = 15 };
    const hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    H5Tset_fields(type, SIGN, EXPONENT, EXPONENT_BITS, 0, FRACTION_BITS);
    H5Tset_size(type, BYTES);
    H5Tset_ebias(type, BIAS);
    return type;
}

static hid_t
part_type(CtType type)
{
    switch (type) {
    case CT_I8:
        return H5Tcopy(H5T_NATIVE_INT8);
    case CT_I16:
        return H5Tcopy(H5T_NATIVE_INT16);
    case CT_I32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case CT_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case CT_U32:
        return H5Tcopy(H5T_NATIVE_UINT32);
    case CT_F16:
        return half_type();
    case CT_F32:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    case CT_F64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    default:
        return H5Tcopy(H5T_NATIVE_UINT8); /* u8, ci4 */
    }
}

/* A struct of both parts, of these names. */
static hid_t
complex_of(CtType type, const char *const names[2])
{
    const CtTypeInfo *info = ct_type_info(type);
    g_auto(Hdf5Id) part = part_type(info->part);
    const hid_t both = H5Tcreate(H5T_COMPOUND, info->bytes);
    H5Tinsert(both, names[0], 0, part);
    H5Tinsert(both, names[1], info->bytes / 2, part);
    return both;
}

hid_t
hdf5_type(CtType type)
{
    static const char *const names[] = {"r", "i"};
    if (!ct_type_info(type)->is_complex || type == CT_CI4)
        return part_type(type);
    return complex_of(type, names);
}

/* Whether a type is `wanted`, in either order of bytes. */
static gboolean
is_type(hid_t given, hid_t wanted)
{
    static const H5T_order_t orders[] = {H5T_ORDER_LE, H5T_ORDER_BE};
    if (H5Tequal(given, wanted) > 0)
        return TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(orders); i++) {
        g_auto(Hdf5Id) turned = H5Tcopy(wanted);
        if (H5Tset_order(turned, orders[i]) >= 0 && H5Tequal(given, turned) > 0)
            return TRUE;
    }
    return FALSE;
}

static CtType
find_part(hid_t given)
{
    for (CtType type = CT_I8; type < CT_N_TYPES; type++) {
        g_auto(Hdf5Id) wanted = part_type(type);
        if (is_type(given, wanted))
            return type;
    }
    return is_type(given, H5T_NATIVE_UINT16) ? CT_F32 : CT_TYPE_NONE;
}

/* The names of the parts of a complex element, whatever their order; NULL: it is none. */
static const char *const *
find_names(hid_t given)
{
    static const char *const names[][2] = {{"r", "i"}, {"real", "imag"}};
    if (H5Tget_class(given) != H5T_COMPOUND || H5Tget_nmembers(given) != 2)
        return NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (H5Tget_member_index(given, names[i][0]) >= 0 &&
            H5Tget_member_index(given, names[i][1]) >= 0)
            return names[i];
    return NULL;
}

CtType
hdf5_find_type(hid_t given)
{
    const char *const *names = find_names(given);
    if (!names)
        return find_part(given);
    g_auto(Hdf5Id) real = H5Tget_member_type(given, 0);
    g_auto(Hdf5Id) imaginary = H5Tget_member_type(given, 1);
    const CtType part = find_part(real);
    if (part == CT_TYPE_NONE || find_part(imaginary) != part)
        return CT_TYPE_NONE;
    return hdf5_complex_type(part);
}

CtType
hdf5_complex_type(CtType part)
{
    for (CtType type = CT_TYPE_NONE + 1; type < CT_N_TYPES; type++)
        if (ct_type_info(type)->is_complex && ct_type_info(type)->part == part)
            return type;
    return CT_TYPE_NONE;
}

hid_t
hdf5_memory_type(hid_t given, CtType type)
{
    const char *const *names = find_names(given);
    return names ? complex_of(type, names) : hdf5_type(type);
}

hid_t
hdf5_text_type(void)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* ---- attributes ---- */

gboolean
hdf5_set(hid_t object, const char *name, hid_t type, gconstpointer values, gsize n)
{
    const hsize_t dims[] = {n};
    g_auto(Hdf5Id) space = n > 0 ? H5Screate_simple(1, dims, NULL) : H5Screate(H5S_SCALAR);
    g_auto(Hdf5Id) attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
}

gboolean
hdf5_set_text(hid_t object, const char *name, const char *text)
{
    g_auto(Hdf5Id) type = hdf5_text_type();
    return !text || hdf5_set(object, name, type, &text, 0);
}

/* ---- datasets ---- */

hid_t
hdf5_add(hid_t group, const char *name, hid_t type, guint n_dims, const hsize_t *dims,
         gconstpointer values, gconstpointer fill)
{
    g_auto(Hdf5Id) space =
        n_dims > 0 ? H5Screate_simple((int)n_dims, dims, NULL) : H5Screate(H5S_SCALAR);
    g_auto(Hdf5Id) how = H5Pcreate(H5P_DATASET_CREATE);
    /* The same stream gives the same bytes. */
    H5Pset_obj_track_times(how, FALSE);
    if (fill)
        H5Pset_fill_value(how, type, fill);
    if (!values)
        H5Pset_alloc_time(how, H5D_ALLOC_TIME_LATE);
    g_auto(Hdf5Id) made = H5Dcreate2(group, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    if (made < 0 || (values && H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
        return H5I_INVALID_HID;
    const hid_t given = made;
    made = H5I_INVALID_HID;
    return given;
}

/* ---- reading ---- */

/* A file says how many values there are before it has them: so many as no compression makes of its
 * bytes are not read. */
static gboolean
is_stored(hid_t object, hid_t type, gsize n)
{
    enum { MOST_RATIO = 1100 }; /* of deflate: 1032 */
    gsize bytes;
    if (H5Iget_type(object) == H5I_ATTR)
        return TRUE;
    const hsize_t stored = H5Dget_storage_size(object);
    return !__builtin_mul_overflow(n, H5Tget_size(type), &bytes) && bytes / MOST_RATIO <= stored;
}

/* Whether a dataset or an attribute has `n` values of a class. */
static gboolean
has_values(hid_t object, gsize n, gboolean is_text)
{
    const gboolean is_attribute = H5Iget_type(object) == H5I_ATTR;
    g_auto(Hdf5Id) space = is_attribute ? H5Aget_space(object) : H5Dget_space(object);
    g_auto(Hdf5Id) type = is_attribute ? H5Aget_type(object) : H5Dget_type(object);
    const H5T_class_t class = H5Tget_class(type);
    return H5Sget_simple_extent_npoints(space) == (hssize_t)n && is_stored(object, type, n) &&
           (is_text ? class == H5T_STRING : class == H5T_INTEGER || class == H5T_FLOAT);
}

gboolean
hdf5_has_numbers(hid_t dataset, gsize n)
{
    return has_values(dataset, n, FALSE);
}

static gboolean
read_values(hid_t object, hid_t type, gpointer values)
{
    return (H5Iget_type(object) == H5I_ATTR
                ? H5Aread(object, type, values)
                : H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)) >= 0;
}

gboolean
hdf5_read(hid_t object, hid_t type, gsize n, gpointer values)
{
    return object >= 0 && has_values(object, n, FALSE) && read_values(object, type, values);
}

static char *
take_text(const char *bytes, gsize n)
{
    g_autofree char *text = g_strndup(bytes, n);
    return g_utf8_make_valid(g_strchomp(text), -1);
}

/* Texts of up to `bytes` bytes each, which the file fills up with zeros or spaces. */
static char **
read_fixed(hid_t object, hid_t type, gsize n, gsize bytes)
{
    g_autofree char *values = g_try_malloc0_n(n + 1, bytes);
    if (!values || !read_values(object, type, values))
        return NULL;
    char **texts = g_new0(char *, n + 1);
    for (gsize i = 0; i < n; i++)
        texts[i] = take_text(values + i * bytes, bytes);
    return texts;
}

static char **
read_variable(hid_t object, gsize n)
{
    g_auto(Hdf5Id) type = hdf5_text_type();
    const gboolean is_attribute = H5Iget_type(object) == H5I_ATTR;
    g_auto(Hdf5Id) space = is_attribute ? H5Aget_space(object) : H5Dget_space(object);
    g_auto(Hdf5Id) given = is_attribute ? H5Aget_type(object) : H5Dget_type(object);
    g_autofree char **values = g_try_new0(char *, n + 1);
    H5Tset_cset(type, H5Tget_cset(given));
    if (!values || !read_values(object, type, values))
        return NULL;
    char **texts = g_new0(char *, n + 1);
    for (gsize i = 0; i < n; i++)
        texts[i] = take_text(values[i] ? values[i] : "", values[i] ? strlen(values[i]) : 0);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    return texts;
}

char **
hdf5_read_texts(hid_t object, gsize n)
{
    enum { MOST_BYTES = 1 << 16 };
    if (object < 0 || !has_values(object, n, TRUE))
        return NULL;
    g_auto(Hdf5Id) type =
        H5Iget_type(object) == H5I_ATTR ? H5Aget_type(object) : H5Dget_type(object);
    if (H5Tis_variable_str(type) > 0)
        return read_variable(object, n);
    const gsize bytes = H5Tget_size(type);
    return bytes > 0 && bytes <= MOST_BYTES ? read_fixed(object, type, n, bytes) : NULL;
}

static hid_t
open_attribute(hid_t object, const char *name)
{
    return H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
}

gboolean
hdf5_get(hid_t object, const char *name, hid_t type, gpointer values, gsize n)
{
    g_auto(Hdf5Id) attribute = open_attribute(object, name);
    return hdf5_read(attribute, type, MAX(n, 1), values);
}

gboolean
hdf5_get_whole(hid_t object, const char *name, gint64 *values, gsize n)
{
    g_auto(Hdf5Id) attribute = open_attribute(object, name);
    g_auto(Hdf5Id) type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
    return type >= 0 && H5Tget_class(type) == H5T_INTEGER &&
           hdf5_read(attribute, H5T_NATIVE_INT64, MAX(n, 1), values);
}

char *
hdf5_get_text(hid_t object, const char *name)
{
    g_auto(Hdf5Id) attribute = open_attribute(object, name);
    g_auto(GStrv) texts = hdf5_read_texts(attribute, 1);
    return texts ? g_strdup(texts[0]) : NULL;
}

char **
hdf5_get_texts(hid_t object, const char *name)
{
    g_auto(Hdf5Id) attribute = open_attribute(object, name);
    g_auto(Hdf5Id) space = attribute < 0 ? H5I_INVALID_HID : H5Aget_space(attribute);
    const hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    return n < 0 ? NULL : hdf5_read_texts(attribute, (gsize)n);
}

hid_t
hdf5_open(hid_t group, const char *name)
{
    g_auto(Hdf5Id) made =
        H5Lexists(group, name, H5P_DEFAULT) > 0 ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    const H5I_type_t type = made < 0 ? H5I_BADID : H5Iget_type(made);
    if (type != H5I_DATASET && type != H5I_GROUP)
        return H5I_INVALID_HID;
    const hid_t given = made;
    made = H5I_INVALID_HID;
    return given;
}
