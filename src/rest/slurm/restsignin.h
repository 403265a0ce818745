/* restsignin.h - POST /penstock/v1/signin: a browser's word becomes a token
 *
 * A browser at a port proves nothing.  Its user has proved who he is to slurmctld's local socket,
 * and got a word for it (ctld/front/signin.h); whoever brings the word first gets the token. */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_signin_rows[];
