# What `cpack` packs: a .deb and a tarball of all that is installed. Completions and pages of the manual are written by
# the programs themselves, from the options that they parse.
function(shardproof_shell program)
  set(folder ${PROJECT_BINARY_DIR}/generated/shell)
  set(files ${folder}/bash/${program} ${folder}/zsh/_${program} ${folder}/fish/${program}.fish ${folder}/man/${program}.1.gz)
  add_custom_command(
    OUTPUT ${files}
    COMMAND ${CMAKE_COMMAND} -E make_directory bash zsh fish man
    COMMAND ${program} --shell bash > bash/${program}
    COMMAND ${program} --shell zsh > zsh/_${program}
    COMMAND ${program} --shell fish > fish/${program}.fish
    COMMAND ${program} --shell man > man/${program}.1
    COMMAND gzip -9nf man/${program}.1
    DEPENDS ${program}
    WORKING_DIRECTORY ${folder}
    COMMENT "Completions and manual of ${program}" VERBATIM)
  add_custom_target(shell_${program} ALL DEPENDS ${files})
  add_dependencies(installed shell_${program})
  install(TARGETS ${program} COMPONENT shardproof)
  install(FILES ${folder}/bash/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT shardproof)
  install(FILES ${folder}/zsh/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT shardproof)
  install(FILES ${folder}/fish/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT shardproof)
  install(FILES ${folder}/man/${program}.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT shardproof)
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/shell)
shardproof_shell(shard-train)
if(TARGET check-sharding)
  shardproof_shell(check-sharding)
endif()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "proofs that sharded programs compute their models")
set(CPACK_PACKAGE_DESCRIPTION "check-sharding proves that a sharded program computes the same as its
unsharded model on every mesh, or shows the line, the numbers and the fix.
shard-train trains a model by such a program. A C++ program finds the library
by find_package(shardproof).")
set(CPACK_PACKAGE_CONTACT "Shardproof maintainers <maintainers@users.noreply.github.com>" CACHE STRING "Who answers for the package")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
