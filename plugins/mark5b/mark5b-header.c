/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of Mark 5B frames. */
#include "mark5b-header.h"

enum { CODE_BITS = 48, DAY = 86400 };

static guint32
little_32(const guint8 *bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (guint32)bytes[3] << 24;
}

/* Reads `n` decimal digits, the last in the lowest 4 bits; −1 if one is none. */
static gint
read_digits(guint32 word, guint n)
{
    gint number = 0;
    while (n-- > 0) {
        const guint digit = word >> 4 * n & 15;
        if (digit > 9)
            return -1;
        number = 10 * number + (gint)digit;
    }
    return number;
}

guint
mark5b_check(guint64 code)
{
    guint check = 0;
    for (guint i = CODE_BITS; i-- > 0;) {
        const guint bit = (check >> 15 ^ (guint)(code >> i)) & 1;
        check = (check << 1 & 0xffff) ^ (bit ? 0x8005 : 0);
    }
    return check;
}

const char *
mark5b_header_parse(const guint8 *bytes, Mark5bHeader *header)
{
    const guint32 words[4] = {little_32(bytes), little_32(bytes + 4), little_32(bytes + 8),
                              little_32(bytes + 12)};
    if (words[0] != 0xabaddeed)
        return "no sync word 0xABADDEED";
    const gint day = read_digits(words[2] >> 20, 3), second = read_digits(words[2], 5);
    const gint fraction = read_digits(words[3] >> 16, 4);
    if (day < 0 || second < 0 || fraction < 0)
        return "a time code that is not decimal";
    if (second > DAY) /* of a leap second */
        return "a time code of more than a day";
    const guint check = words[3] & 0xffff;
    if (check != 0 && check != mark5b_check((guint64)words[2] << 16 | words[3] >> 16))
        return "a time code that its check contradicts";
    *header = (Mark5bHeader){
        .user = words[1] >> 16,
        .is_test = words[1] >> 15 & 1,
        .frame = words[1] & 0x7fff,
        .day = (guint)day,
        .second = (guint)second,
        .fraction = (guint)fraction,
    };
    return NULL;
}
