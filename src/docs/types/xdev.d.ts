// types
