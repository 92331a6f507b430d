# Writes OUTPUT: a C++ string literal for each law of INPUT, as optimizer/rules/laws/law.h describes
# their text. usage: cmake -DINPUT=FILE -DOUTPUT=FILE -P embed_laws.cmake
cmake_minimum_required(VERSION 3.25)
file(READ ${INPUT} text)
# Brackets and semicolons mean something in CMake's lists; a law's text has brackets.
string(REGEX REPLACE "(^|\n)law: " "\\1)law\",\nR\"law(law: " text "${text}")
file(WRITE ${OUTPUT} "R\"law(${text})law\",\n")
