/* restctld.h - the controller itself: GET ping/, reconfigure/, and reservations as they are */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_ctld_rows[];
