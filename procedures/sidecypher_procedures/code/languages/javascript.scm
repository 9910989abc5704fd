(field_definition property: (_) @name value: (arrow_function body: (_) @until) @function) @whole
(class_declaration (class_heritage [(identifier) (member_expression)] @base)) @derived
(class (class_heritage [(identifier) (member_expression)] @base)) @derived

(formal_parameters (identifier) @local)
(formal_parameters (assignment_pattern left: (identifier) @local))
