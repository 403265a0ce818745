/* restctld.h - the controller itself: GET ping/, reconfigure/, and reservations as they are */
#pragma once

#include "rest/restcall.h"
#include "rest/restlink.h"

extern const struct rest_row rest_ctld_rows[];

/* "pings": does a daemon answer?  That it does not is no error. */
void restctld_ping(struct rest_call *call, enum rest_service service, const char *host);
