/* SPDX-License-Identifier: BSD-3-Clause */
/* A piece of a firing, as the host passes it to the kernels of the correlator. Included by both. */
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
 * complex matrices [item][tile][row][column]; a tile is a square of TILE inputs times TILE others,
 * tiles row-wise in the lower triangle. An item is an element of the axes that pass through. */
typedef struct {
    const void *voltages; /* of the first spectrum */
    long long from_time, from_station, from_pol;
    void *visibilities; /* of the first integration that ends here */
    long long to_time, to_baseline, to_p, to_q;
    CorrelatePieceAxis axes[CORRELATE_MAX_AXES];
    int n_axes;
    int n_spectra;
    long long integration; /* spectra of a visibility */
    long long done;        /* spectra of the first integration before this piece */
    int ended;             /* the last integration is due, however short it is */
    int width;      /* bytes that may be loaded at once from contiguous inputs; 0: only single
                       elements */
    int chunk;      /* spectra of a part of an integration, counted from its first */
    int n_ranges;   /* integrations of the piece or, if they are divided, their parts */
    int are_packed; /* the polarisations of a baseline are contiguous and aligned to 16 bytes */
    void *sums;     /* of complete chunks, or exact ones */
    void *open;     /* of the chunk that the last piece left unfinished; NULL if sums are exact */
    void *parts;    /* [range]; NULL: one block each sums whole integrations */
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
