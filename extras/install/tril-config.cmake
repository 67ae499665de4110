# find_package(tril): the targets tril::tril, the shared library, and tril::static.
get_filename_component(tril_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

add_library(tril::tril SHARED IMPORTED)
set_target_properties(tril::tril PROPERTIES
	IMPORTED_LOCATION "${tril_PREFIX}/lib/libtril.so"
	INTERFACE_INCLUDE_DIRECTORIES "${tril_PREFIX}/include")

add_library(tril::static STATIC IMPORTED)
set_target_properties(tril::static PROPERTIES
	IMPORTED_LOCATION "${tril_PREFIX}/lib/libtril.a"
	INTERFACE_INCLUDE_DIRECTORIES "${tril_PREFIX}/include"
	INTERFACE_LINK_LIBRARIES "m;Threads::Threads")
