/* restresvchange.h - changes of reservations: POST reservation, reservations/, DELETE
 * reservation/{} */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_resv_change_rows[];
