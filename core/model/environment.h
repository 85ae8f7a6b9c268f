/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables. A process with raised privileges ignores them. */
#pragma once

#include <glib.h>

/* The variable's value. NULL if it is not set, and always NULL in a process that has privileges its
 * user lacks (setuid, setgid, file capabilities): the user could have set any value. */
const char *ct_environment(const char *name);
