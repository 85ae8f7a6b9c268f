/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of a FITS file. */
#include "psrfits-cards.h"

#include <cornerturn/error.h>
#include <cornerturn/packets.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { CARD = 80, NAME = 8, VALUE = 10 };

void
psrfits_cards_clear(PsrfitsCards *cards)
{
    g_free(cards->cards);
    *cards = (PsrfitsCards){0};
}

/* ---- reading ---- */

gboolean
psrfits_cards_read(PsrfitsCards *cards, const char *path, int fd, gint64 length, gint64 at,
                   GError **error)
{
    enum { MOST_RECORDS = 1000 };
    static const char end[] = "END     ";
    cards->path = path;
    cards->begin = at;
    for (gint i = 0; i < MOST_RECORDS && length - cards->begin >= PSRFITS_RECORD; i++) {
        const gsize has = (gsize)(cards->begin - at);
        cards->cards = g_realloc(cards->cards, has + PSRFITS_RECORD);
        if (!ct_file_read(path, fd, cards->begin, cards->cards + has, PSRFITS_RECORD, error))
            return FALSE;
        cards->begin += PSRFITS_RECORD;
        for (gsize k = 0; k < PSRFITS_RECORD / CARD; k++, cards->n++)
            if (memcmp(cards->cards + cards->n * CARD, end, NAME) == 0)
                return TRUE;
    }
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: byte %" G_GINT64_FORMAT
                ": wants a header of FITS up to its END, but is given %" G_GINT64_FORMAT
                " bytes without one",
                path, at, length - at);
    return FALSE;
}

/* ---- values ---- */

/* Copies the value of a keyword, with the comment. FALSE: there is none. */
static gboolean
find(const PsrfitsCards *cards, const char *key, char value[CARD + 1])
{
    char name[CARD];
    g_snprintf(name, sizeof name, "%-8s= ", key);
    for (gsize i = 0; i < cards->n; i++) {
        const char *card = cards->cards + i * CARD;
        if (memcmp(card, name, VALUE) != 0)
            continue;
        memcpy(value, card + VALUE, CARD - VALUE);
        value[CARD - VALUE] = 0;
        return TRUE;
    }
    return FALSE;
}

/* The same, without comment and spaces. FALSE also: it is empty. */
static gboolean
find_bare(const PsrfitsCards *cards, const char *key, char value[CARD + 1])
{
    if (!find(cards, key, value))
        return FALSE;
    value[strcspn(value, "/")] = 0;
    g_strstrip(value);
    return *value != 0;
}

gboolean
psrfits_cards_has(const PsrfitsCards *cards, const char *key)
{
    char value[CARD + 1];
    return find_bare(cards, key, value);
}

static gboolean
find_number(const PsrfitsCards *cards, const char *key, char value[CARD + 1])
{
    return find_bare(cards, key, value) && strspn(value, "+-.0123456789EeDd") == strlen(value);
}

gdouble
psrfits_cards_real(const PsrfitsCards *cards, const char *key)
{
    char value[CARD + 1], *end;
    if (!find_number(cards, key, value))
        return NAN;
    g_strdelimit(value, "Dd", 'E');
    const gdouble real = g_ascii_strtod(value, &end);
    return *end == 0 && isfinite(real) ? real : NAN;
}

gint64
psrfits_cards_whole(const PsrfitsCards *cards, const char *key)
{
    char value[CARD + 1], *end;
    if (!find_number(cards, key, value))
        return -1;
    errno = 0;
    const gint64 whole = g_ascii_strtoll(value, &end, 10);
    if (*end == 0)
        return errno == 0 && whole >= 0 ? whole : -1;
    /* Some programs write whole numbers with a point. */
    const gdouble real = psrfits_cards_real(cards, key);
    return real >= 0 && real < 0x1p53 && real == floor(real) ? (gint64)real : -1;
}

char *
psrfits_cards_text(const PsrfitsCards *cards, const char *key)
{
    char value[CARD + 1], text[CARD + 1];
    gsize n = 0;
    if (!find(cards, key, value))
        return NULL;
    const char *at = value + strspn(value, " ");
    if (*at != '\'')
        return NULL;
    for (at++; *at && (*at != '\'' || at[1] == '\''); at++) {
        at += *at == '\'';
        text[n++] = *at;
    }
    text[n] = 0;
    g_strstrip(text);
    return *text ? g_utf8_make_valid(text, -1) : NULL;
}

/* ---- sizes ---- */

gint64
psrfits_cards_next(const PsrfitsCards *cards)
{
    enum { MOST_AXES = 999, BYTE = 8 };
    const gint64 n_axes = psrfits_cards_whole(cards, "NAXIS");
    const gdouble bits = fabs(psrfits_cards_real(cards, "BITPIX"));
    const gint64 extra = psrfits_cards_whole(cards, "PCOUNT");
    gint64 size = n_axes > 0;
    if (n_axes < 0 || n_axes > MOST_AXES || !(bits >= BYTE && bits <= 64))
        return -1;
    for (gint64 i = 1; i <= n_axes; i++) {
        g_autofree char *key = g_strdup_printf("NAXIS%" G_GINT64_FORMAT, i);
        const gint64 n = psrfits_cards_whole(cards, key);
        if (n < 0 || __builtin_mul_overflow(size, n, &size))
            return -1;
    }
    if (__builtin_add_overflow(size, MAX(extra, 0), &size) ||
        __builtin_mul_overflow(size, (gint64)bits / BYTE, &size) ||
        __builtin_add_overflow(size, PSRFITS_RECORD - 1, &size) ||
        __builtin_add_overflow(size / PSRFITS_RECORD * PSRFITS_RECORD, cards->begin, &size))
        return -1;
    return size;
}
