/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of a filter bank on a device, and how groups of threads share its work. */
#pragma once

#include "../fft/fft-radices.h"

#include <cornerturn/stage.h>

/* How a group of threads works: each thread filters `vector` values of `ahead` spectra at a time,
 * and keeps from one time to the next either sums or samples (fir-window.h). */
typedef struct {
    guint vector, ahead;
    gboolean keeps_samples, shares_taps; /* shares_taps: coefficients are in shared memory */
    FftRadices radices;
} PfbWay;

/* The sizes of a filter bank. Two real samples make a value of a transform. */
typedef struct {
    gint64 n_phases, n_taps, n_channels;
    gint64 length; /* of a transform */
    CtType type;
    guint parts; /* phases of a value */
} PfbBank;

enum { PFB_THREADS, PFB_VECTOR, PFB_AHEAD, PFB_KEEPS, PFB_BUFFERS };
extern const CtTunable ct_pfb_tunables[];

/* The most threads of a group. */
enum { PFB_WARP = 32, PFB_MOST_THREADS = 512 };
/* Spectra of a block of time. */
enum { PFB_BLOCK = 16 };

PfbBank ct_pfb_bank(const CtNode *nodes);

/* How a group works by the table, with fewer phases a thread if there are no radices for so many.
 * FALSE: there is no way. */
gboolean ct_pfb_way_find(PfbWay *way, const PfbBank *bank);

/* Chooses the number of spectra, about `usual` or less, and radices. FALSE: there are no radices.
 */
gboolean ct_pfb_way_ahead(PfbWay *way, gint64 length, guint usual);

/* Chooses the largest number of spectra, `usual` or less, that divides a block of time, and
 * radices. FALSE: there are none, or threads can't share the writing of blocks. */
gboolean ct_pfb_way_divide(PfbWay *way, gint64 length, guint usual);

/* Chooses radices after which a thread has all spectra of its channels, if that takes no further
 * pass: what folds spectra then need not exchange them. */
void ct_pfb_way_fold(PfbWay *way, gint64 length);

/* How a group works with this tuning, of which the table says `usual`. If that does not fit a
 * multiprocessor, the table decides. */
PfbWay ct_pfb_way_choose(const PfbWay *usual, const gint64 *tuning, const PfbBank *bank);

/* The most phases with so many taps. */
gint64 ct_pfb_most_phases(const PfbBank *like, gint64 n_taps);

/* Whether spectra stay at their place in shared memory (pfb-in-place.h). */
gboolean ct_pfb_in_place(const PfbBank *bank, const PfbWay *way);

/* The distance of spectra in shared memory. In the first pass, threads side by side read values
 * side by side of one spectrum, then of the next: these lie in other banks. */
gint64 ct_pfb_pitch(const PfbBank *bank, const PfbWay *way);

/* Registers of a thread for numbers: those of the filter, those that it transforms, and the factors
 * of the passes behind the first. */
guint ct_pfb_registers(const PfbBank *bank, const PfbWay *way);

/* Shared memory of a group: a buffer of spectra, coefficients, and the states of what its threads
 * fold, one of each channel. */
gsize ct_pfb_buffer_bytes(const PfbBank *bank, const PfbWay *way);
gsize ct_pfb_taps_bytes(const PfbBank *bank, const PfbWay *way);
gsize ct_pfb_states_bytes(const PfbBank *bank, gsize state_bytes);

/* The spectra of a block of time that are written together: those that are transformed together, or
 * as many as fill a sector of memory. The shared memory in which they wait. */
gint64 ct_pfb_together(const PfbWay *way, gsize element_bytes);
gsize ct_pfb_staged_bytes(const PfbBank *bank, const PfbWay *way, gsize element_bytes);

/* The groups of a block: several if they are parts of warps, or if they leave threads of their last
 * warp without work. Others would wait for each other. */
guint ct_pfb_groups(const PfbWay *way, gint64 length, gint64 threads);

/* Whether groups work in another way than with the default tuning. */
gboolean ct_pfb_differs(const CtNode *nodes, const gint64 *tuning);
