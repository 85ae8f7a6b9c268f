/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of a header: where a number stands, and of how many bits. */
#include "packet-fields.h"

#include <cornerturn/packets.h>
#include <string.h>

static gboolean
parse_number(const char *text, guint64 most, guint64 *number)
{
    const gboolean is_hex = g_str_has_prefix(text, "0x");
    return g_ascii_string_to_unsigned(is_hex ? text + 2 : text, is_hex ? 16 : 10, 0, most, number,
                                      NULL);
}

/* The words of a text; several spaces are one. */
static GPtrArray *
split(const char *text)
{
    g_auto(GStrv) all = g_strsplit_set(text, " \t", -1);
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; all[i]; i++)
        if (*all[i])
            g_ptr_array_add(words, g_strdup(all[i]));
    return words;
}

/* Moves *at behind a word, if it is the next one. */
static gboolean
take(const GPtrArray *words, guint *at, const char *word)
{
    const gboolean is_next = *at < words->len && strcmp(words->pdata[*at], word) == 0;
    *at += is_next;
    return is_next;
}

static gboolean
take_number(const GPtrArray *words, guint *at, guint64 most, guint64 *number)
{
    return *at < words->len && parse_number(words->pdata[(*at)++], most, number);
}

static gboolean
take_field(const GPtrArray *words, guint *at, PacketField *field)
{
    guint64 bits, byte, bit = 0;
    if (words->len == 0 || *(const char *)words->pdata[0] != 'u' ||
        !parse_number((const char *)words->pdata[(*at)++] + 1, 64, &bits) || bits == 0)
        return FALSE;
    const gboolean is_little = take(words, at, "little");
    if (!is_little)
        take(words, at, "big");
    if (!take(words, at, "at") || !take_number(words, at, CT_PACKET_LONGEST_HEADER, &byte) ||
        (take(words, at, "bit") && !take_number(words, at, 7, &bit)))
        return FALSE;
    *field = (PacketField){(guint)bits, is_little, (guint)(8 * byte + bit)};
    return TRUE;
}

gboolean
packet_field_parse(const char *text, PacketField *field)
{
    g_autoptr(GPtrArray) words = split(text);
    guint at = 0;
    return take_field(words, &at, field) && at == words->len;
}

gboolean
packet_constant_parse(const char *text, PacketConstant *constant)
{
    g_autoptr(GPtrArray) words = split(text);
    guint at = 0;
    return take_field(words, &at, &constant->field) && take(words, &at, "=") &&
           take_number(words, &at, G_MAXUINT64 >> (64 - constant->field.bits), &constant->value) &&
           at == words->len;
}

gsize
packet_field_end(const PacketField *field)
{
    return field->bits == 0 ? 0 : (field->first + field->bits + 7) / 8;
}

/* In big-endian order, the first bit of a field is its highest, and that of a byte, too; in
 * little-endian order, both are the lowest. */
guint64
packet_field_get(const PacketField *field, const guint8 *header)
{
    guint64 number = 0;
    const guint end = field->first + field->bits;
    for (guint at = field->first; at < end;) {
        const guint in = at % 8, n = MIN(8 - in, end - at);
        const guint shift = field->is_little ? in : 8 - in - n;
        const guint64 piece = header[at / 8] >> shift & ((1u << n) - 1);
        number = field->is_little ? number | piece << (at - field->first) : number << n | piece;
        at += n;
    }
    return number;
}
