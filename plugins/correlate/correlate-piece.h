/* SPDX-License-Identifier: BSD-3-Clause */
/* A piece of a firing, as the host passes it to the kernels of the correlator. Included by both.
 *
 * Words of the correlator on devices:
 *   item   an element of the axes that pass through
 *   piece  the spectra of a firing that are summed in one launch
 *   chunk  consecutive spectra of an integration, counted from its first, whose sum is added to the
 *          sum of the chunks before
 *   range  the spectra of a piece that are summed together: those of one integration or, if
 *          integrations are divided, those of one chunk
 *   part   the sums of a range, if integrations are divided
 *   unit   the threads that sum one tile together; a block has one or several
 *   job    the work of a unit: one tile of one item, summed over one range */
#pragma once

#define CORRELATE_MAX_AXES 10

/* An axis that passes through; strides in bytes. */
typedef struct {
    long long length;
    long long from, to;
} CorrelatePieceAxis;

/* Spectra that are summed in one launch, from one integration or several. An integration begun
 * before the piece is the piece's only one.
 *
 * Inputs are counted [station][pol]. Sums, parts of sums and sums kept from piece to piece are
 * complex matrices [item][tile][square][row][column]; a tile is a square of TILE inputs times TILE
 * others, tiles row-wise in the lower triangle, and consists of squares of SQUARE times SQUARE. */
typedef struct {
    const void *voltages; /* of the first spectrum, or of the block of time that it is in */
    long long from_time, from_station, from_pol;
    void *visibilities; /* of the first integration that ends here */
    long long to_time, to_baseline, to_p, to_q;
    CorrelatePieceAxis axes[CORRELATE_MAX_AXES];
    int n_axes;
    int lead; /* spectra of the first block of time that come before the piece */
    int n_spectra;
    long long integration; /* spectra of a visibility */
    long long done;        /* spectra of the first integration before this piece */
    int ended;             /* the last integration is due, however short it is */
    int width;      /* bytes that may be loaded at once from contiguous inputs; 0: only single
                       elements */
    int chunk;      /* its spectra, if integrations are divided */
    int n_ranges;   /* of the piece */
    int are_packed; /* the polarisations of a baseline are contiguous and aligned to 16 bytes */
    void *sums;     /* of complete chunks, or exact ones */
    void *open;     /* of the chunk that the last piece left unfinished; on tensor cores, sums of 32
                       bits, of spectra that are not in `sums` yet; else NULL if sums are exact */
    int adds_sums, adds_open; /* exact sums: these hold the beginning of the first integration */
    int keeps_open; /* on tensor cores: an unfinished integration is added to `open`, not `sums` */
    void *left;     /* on tensor cores, in floating point: [item][spectrum][input], voltages of an
                       unfinished chunk; the piece's first n_left spectra are these */
    int n_left;     /* … and `voltages` begins so many spectra before the block */
    void *parts;    /* [range]; NULL: integrations are not divided, and one unit sums each of them
                       (per tile and item) */
} CorrelatePiece;

/* The weights of the same spectra. An item is a group (an element of the axes along which validity
 * differs) and one of the elements that share the group's validity. */
typedef struct {
    const unsigned *valid; /* [lane][words], one bit per spectrum; NULL: all are valid */
    long long words;
    int n_spectra;
    int ended;
    long long integration;
    long long done;
    const unsigned *before; /* [group][pair]: counts of the unfinished integration */
    unsigned *after;
    long long station_lane, pol_lane;
    void *weights; /* of the first integration that ends here */
    long long to_time, to_baseline, to_p, to_q;
    long long n_groups, n_alike;
    int n_group_axes, n_axes;                    /* axes of groups come first, … */
    CorrelatePieceAxis axes[CORRELATE_MAX_AXES]; /* `from`: step of the lane */
} CorrelateCounting;
