/* restreply.h - the frame of every answer: meta, errors and warnings, and the request's words
 *
 * The functions of restcall.h about errors, warnings and query words are in restreply.c; those of
 * the frame are declared in rest_impl.h. */
#pragma once

#include "rest/rest_impl.h"
