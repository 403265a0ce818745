/* restvalue.h - values of bodies: numbers, texts and lists; the functions are in restcall.h */
#pragma once

#include "rest/restcall.h"
