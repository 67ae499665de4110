/* library/version.h - the version that --version prints. */
#ifndef TRIL_LIBRARY_VERSION_H
#define TRIL_LIBRARY_VERSION_H

#define TRIL_VERSION "0.2.0"

#endif
