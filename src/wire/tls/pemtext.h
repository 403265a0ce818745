/* pemtext.h - is a text of a script or a peer one of PEM?
 *
 * A first look, before it goes to a program, a file or OpenSSL: printable ASCII in lines, with a
 * block of the kind.  Pure. */
#pragma once

#include <stdbool.h>

#define PEM_REQUEST "CERTIFICATE REQUEST"
#define PEM_CERTIFICATE "CERTIFICATE"
#define PEM_KEY "PRIVATE KEY"

/* Does text hold a block "-----BEGIN [...] KIND-----" with its end? */
bool pemtext_holds(const char *text, const char *kind);
