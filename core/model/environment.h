/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables, which a setuid process does not follow. */
#pragma once

#include <glib.h>

/* The variable's value; NULL where it is not set, and in a process that has been given privileges
 * that its user lacks (setuid, setgid, file capabilities), where it could be anybody's. */
const char *ct_environment(const char *name);
