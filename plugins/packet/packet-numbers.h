/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers that headers give stations and channels. */
#pragma once

#include "packet-stream.h"

/* Finds the numbers of an axis: those that a parameter lists or, without it, those of the packets,
 * which must not be ordered yet. Of channels, a packet has `width`, and numbers are its first ones.
 * If headers do not tell any, the only number is 0. */
gboolean packet_numbers_find(PacketNumbers *numbers, CtRecording *recording, const CtParams *given,
                             const char *name, gboolean is_told, gint64 width, GError **error);
void packet_numbers_clear(PacketNumbers *numbers);
