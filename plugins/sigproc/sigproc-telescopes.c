/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of telescopes in SIGPROC headers, after the tables of SIGPROC, PRESTO and blimpy. */
#include "sigproc-telescopes.h"

const SigprocTelescope sigproc_telescopes[] = {
    {1, "Arecibo"},  {2, "Ooty"},   {3, "Nancay"},     {4, "Parkes"}, {5, "Jodrell"},
    {6, "GBT"},      {7, "GMRT"},   {8, "Effelsberg"}, {11, "LOFAR"}, {20, "CHIME"},
    {64, "MeerKAT"}, {65, "KAT-7"}, {0, NULL},
};
