/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of SIGPROC files (filterbanks and time series): reading and writing.
 *
 * A header is "HEADER_START", keywords with their values, "HEADER_END"; the samples follow. A
 * keyword, and a value that is text, is its length (a 32-bit integer) and its characters. The other
 * values are 32-bit integers, doubles and, for `signed`, one byte. All numbers are in the byte
 * order of the machine that wrote the file. After D. R. Lorimer, SIGPROC v4.3 (2011), section
 * "Header format" and its read_header.c. */
#pragma once

#include <glib.h>

/* The most bytes of a header that is read: 800,000 channels with a frequency each. */
#define SIGPROC_MOST_BYTES (16 << 20)
/* The most bytes of a text that SIGPROC reads. */
#define SIGPROC_TEXT_BYTES 80

typedef enum {
    SIGPROC_TELESCOPE_ID,
    SIGPROC_MACHINE_ID,
    SIGPROC_DATA_TYPE, /* 1: filterbank, 2: time series */
    SIGPROC_RAWDATAFILE,
    SIGPROC_SOURCE_NAME,
    SIGPROC_BARYCENTRIC,   /* 1: yes */
    SIGPROC_PULSARCENTRIC, /* 1: yes */
    SIGPROC_AZ_START,      /* degrees */
    SIGPROC_ZA_START,      /* degrees */
    SIGPROC_SRC_RAJ,       /* hhmmss.s, see sigproc_angle_write */
    SIGPROC_SRC_DEJ,       /* ddmmss.s */
    SIGPROC_TSTART,        /* MJD of the first sample, UTC */
    SIGPROC_TSAMP,         /* seconds */
    SIGPROC_NBITS,         /* of a sample */
    SIGPROC_NSAMPLES,      /* in time; often left out */
    SIGPROC_FCH1,          /* MHz: the centre of the first channel */
    SIGPROC_FOFF,          /* MHz from a channel to the next */
    SIGPROC_NCHANS,
    SIGPROC_NIFS,
    SIGPROC_NBEAMS,
    SIGPROC_IBEAM,  /* from 1 on */
    SIGPROC_REFDM,  /* pc cm⁻³ */
    SIGPROC_PERIOD, /* seconds, of folded data */
    SIGPROC_NBINS,  /* of folded data */
    SIGPROC_SIGNED, /* 1: 8-bit samples have a sign */
    SIGPROC_N_KEYWORDS
} SigprocKeyword;

typedef struct {
    guint32 given;                      /* bit 1 << SigprocKeyword: the header has it */
    gdouble number[SIGPROC_N_KEYWORDS]; /* of integers and doubles; 0 if it is not given */
    char *text[SIGPROC_N_KEYWORDS];     /* of texts; NULL if it is not given */
    gsize n_frequencies;                /* of the table that may take the place of fch1 and foff */
    gdouble *frequencies;               /* [n_frequencies] MHz */
    gsize bytes;                        /* of the header as it was read: where the samples begin. If
                                           it was cut off: as many as it has at least, else 0 */
    gboolean big_endian;                /* as it was read; the samples have the same order */
    gboolean is_decimal;                /* src_raj and src_dej are hours and degrees */
} SigprocHeader;

/* The keyword as it stands in files, for messages. */
const char *sigproc_keyword(SigprocKeyword keyword);
gboolean sigproc_is_text(SigprocKeyword keyword);
gboolean sigproc_is_integer(SigprocKeyword keyword);

static inline gboolean
sigproc_has(const SigprocHeader *header, SigprocKeyword keyword)
{
    return (header->given >> keyword & 1) != 0;
}

/* Sets a number, or a text, of which the first SIGPROC_TEXT_BYTES bytes are copied. */
void sigproc_set(SigprocHeader *header, SigprocKeyword keyword, gdouble number);
void sigproc_set_text(SigprocHeader *header, SigprocKeyword keyword, const char *text);

/* Reads the header at the beginning of `bytes`, the first `n` of the file `path`, which is named in
 * messages only. `header` must be zero, and is to be cleared in either case. A keyword that stands
 * twice has the later value. What the values mean is not checked. */
gboolean sigproc_header_parse(SigprocHeader *header, const char *path, const guint8 *bytes, gsize n,
                              GError **error);
/* The bytes of a header, in little-endian order. A text that is empty is left out. */
GBytes *sigproc_header_format(const SigprocHeader *header);
void sigproc_header_clear(SigprocHeader *header);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SigprocHeader, sigproc_header_clear)

/* Angles of headers: hours (degrees), minutes and seconds as the decimal digits of one number,
 * 053431.97; a negative one has its sign before the hours. */
gdouble sigproc_angle_read(gdouble packed, gboolean is_hours); /* radians */
/* Rounds seconds to seven decimals, so that 05:34:00 does not become 05:33:59.9999999999. A right
 * ascension is brought to 0 … 24 hours. */
gdouble sigproc_angle_write(gdouble radians, gboolean is_hours);
/* Right ascension and declination of a header, radians. */
void sigproc_direction(const SigprocHeader *header, gdouble direction[2]);
