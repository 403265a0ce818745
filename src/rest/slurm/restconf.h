/* restconf.h - the configuration: GET conf */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_conf_rows[];
