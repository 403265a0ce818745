/* restfigures.h - figures of the controller: GET diag/, licenses/, shares */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_figure_rows[];
