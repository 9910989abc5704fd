; What JavaScript and TypeScript have in common.
(function_declaration name: (_) @name body: (_) @until) @function
(generator_function_declaration name: (_) @name body: (_) @until) @function
(function_expression name: (_)? @name body: (_) @until) @function
(generator_function name: (_)? @name body: (_) @until) @function
(arrow_function body: (_) @until) @function
(method_definition name: (_) @name body: (_) @until) @function
(class_declaration name: (_) @name body: (_) @until) @class
(class name: (_) @name body: (_) @until) @class

; A value has the name of what it is assigned to.
(variable_declarator name: (identifier) @name
  value: (arrow_function body: (_) @until) @function) @whole
(variable_declarator name: (identifier) @name
  value: (function_expression body: (_) @until) @function) @whole
(variable_declarator name: (identifier) @name
  value: (generator_function body: (_) @until) @function) @whole
(variable_declarator name: (identifier) @name value: (class body: (_) @until) @class) @whole
(pair key: (property_identifier) @name value: (arrow_function body: (_) @until) @function) @whole
(pair key: (property_identifier) @name
  value: (function_expression body: (_) @until) @function) @whole
(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: (arrow_function body: (_) @until) @function) @whole
(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: (function_expression body: (_) @until) @function) @whole
(assignment_expression
  left: (member_expression
    object: (member_expression
      object: (identifier) @label
      property: (property_identifier) @_prototype)
    property: (property_identifier) @name)
  right: (function_expression body: (_) @until) @function
  (#eq? @_prototype "prototype")) @whole
(variable_declarator name: (identifier) @label value: (object)) @scope

(variable_declarator name: (identifier) @name) @member
(variable_declarator name: (object_pattern [
    (shorthand_property_identifier_pattern) @name @member
    (pair_pattern value: (identifier) @name @member)
  ])) @whole
(variable_declarator name: (array_pattern (identifier) @name @member)) @whole

(lexical_declaration (variable_declarator) @inner) @outer
(variable_declaration (variable_declarator) @inner) @outer
(expression_statement (assignment_expression) @inner) @outer
(export_statement declaration: (_) @inner) @outer
(export_statement value: (_) @inner) @outer
(decorator) @decorator
(comment) @comment

(call_expression function: [(identifier) (super)] @name) @call
((call_expression function: (member_expression) @callee) @call
  (#set! receiver "object") (#set! name "property"))
(call_expression) @call
(new_expression constructor: (identifier) @name) @call
((new_expression constructor: (member_expression) @callee) @call
  (#set! receiver "object") (#set! name "property"))
(new_expression) @call

(import_statement . "import" . source: (string (string_fragment) @module)) @import
(import_statement (import_clause (identifier) @alias) source: (string (string_fragment) @module)
  (#set! imported "default")) @import
(import_statement (import_clause (namespace_import (identifier) @alias))
  source: (string (string_fragment) @module)) @import
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @imported alias: (_)? @alias)))
  source: (string (string_fragment) @module)) @import
(export_statement "*" @imported source: (string (string_fragment) @module)) @import
(export_statement (namespace_export (_) @alias) source: (string (string_fragment) @module)) @import
(export_statement (export_clause (export_specifier name: (_) @imported alias: (_)? @alias))
  source: (string (string_fragment) @module)) @import
(variable_declarator
  name: (identifier) @alias
  value: (call_expression function: (identifier) @_require
    arguments: (arguments . (string (string_fragment) @module)))
  (#eq? @_require "require")) @import
(variable_declarator
  name: (object_pattern [
    (shorthand_property_identifier_pattern) @imported
    (pair_pattern key: (_) @imported value: (identifier) @alias)
  ])
  value: (call_expression function: (identifier) @_require
    arguments: (arguments . (string (string_fragment) @module)))
  (#eq? @_require "require")) @import
(expression_statement
  (call_expression function: (identifier) @_require
    arguments: (arguments . (string (string_fragment) @module)))
  (#eq? @_require "require")) @import

(import_clause (identifier) @renamed)
(import_specifier alias: (_) @renamed)
(export_specifier alias: (_) @renamed)

[(identifier) (shorthand_property_identifier)] @use
((member_expression) @use
  (#set! receiver "object") (#set! name "property"))
(rest_pattern (identifier) @local)
(arrow_function parameter: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @local)
(pair_pattern value: (identifier) @local)
(array_pattern (identifier) @local)
(catch_clause parameter: (identifier) @local)
(for_in_statement left: (identifier) @local)
(variable_declarator name: (identifier) @local)
(assignment_expression left: [(identifier) (member_expression)] @other)
(export_clause) @other
