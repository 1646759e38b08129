/*
 * ESL, the Exception Specification Language: the single source of its syntax.
 *
 * The automata whesl/language/compiler/ESL.interp and ESLLexer.interp are made from this file by
 * tools/regenerate_parser.py; the reference is docs/esl-reference.md, and a test compares the two. Origin: dissertation (2026), listing 4.1.
 *
 * What keeps it fast and free of ambiguity:
 *  - every choice but one (ELSE ESCALATE with an optional name) is made by the next token alone;
 *  - a statement ends with its line; a backslash at a line's end, or an open bracket or brace, continues it;
 *  - the arguments of a recovery step are one token: an object of balanced braces, read as JSON afterwards;
 *  - no character is an error to the lexer: INVALID takes what nothing else does.
 *
 * A new statement is a new rule in `declaration` or `handling`, a new way to detect one in `detection`.
 */
grammar ESL;

specification : NEWLINE* line* EOF ;

line : statement ( NEWLINE+ | EOF ) ;

statement : DECLARE declaration | EXCEPTION handling | INCLUDE STRING source? ;

declaration : entities | levels | offers | declared | coupled ;

entities : ENTITY entity ( ',' entity )* ;

levels : EXCEPTION_TYPE level ( ',' level )* ;

offers
    : RESOURCE resource
          '[' NEWLINE* offer NEWLINE* ( ',' NEWLINE* offer NEWLINE* )* ']' ( HANDLER STRING )?
    ;

declared
    : EXCEPTION exceptionName level JOB
          '[' NEWLINE* job NEWLINE* ( ',' NEWLINE* job NEWLINE* )* ']' clause*
    ;

coupled : COUPLED JOB '[' NEWLINE* job NEWLINE* ( ',' NEWLINE* job NEWLINE* )* ']' ;

handling : detected | recovered ;

detected : DETECTION exceptionName detection ;

recovered
    : RECOVERY STEP exceptionName entity resource '.' operation ( BEFORE FAILURE )? JSON_OBJECT?
    ;

// What is named ------------------------------------------------------------------------------------

entity : word ;
level : word ;
resource : word ;
operation : word ;
exceptionName : word ;

offer : operation ( HANDLER STRING )? ;

// Quoted, or any words, numbers and . - * ? without blanks between them.
job : STRING | ~( STRING | JSON_OBJECT | ',' | '[' | ']' | '%' | PAIR | NEWLINE | INVALID )+ ;

// The words of the language may be used as names.
word
    : IDENTIFIER
    | INCLUDE | DECLARE | ENTITY | EXCEPTION_TYPE | RESOURCE | EXCEPTION | DETECTION | RECOVERY | STEP
    | JOB | NODE | HANDLER | COUPLED
    | LOG | MATCH | MULTIPLE | ANY | HANG | SILENCE | PROGRESS | EXIT | EXCEPT | CODE | SIGNAL
    | OUTPUT_FILES | MISSING | EMPTY | OLDER | NEWER | THAN | NOT | SUCCESS | IF
    | DOWN | DRAINED | STOPPED | DISK | INODES | QUOTA | ABOVE
    | RECURRING | TIMES | WITHIN | TIMEOUT | WARMUP
    | LIMIT | WITHOUT | BACKOFF | ELSE | FAIL | PAUSE | ESCALATE | RAISE | SEVERITY
    | CAUSE | EXTERNAL | PREDICTED | CONFIDENCE | BEFORE | FAILURE | STDOUT | STDERR | OUTPUT | FILE
    ;

// How often, and what then -------------------------------------------------------------------------

clause : limit | backoff | otherwise | raised ;

limit : LIMIT count ( WITHOUT PROGRESS )? within? ;
backoff : BACKOFF seconds ;
otherwise : ELSE ( FAIL | PAUSE | ESCALATE exceptionName? ) ;
raised : RAISE STRING severity? ;

// How it is seen -----------------------------------------------------------------------------------

detection
    : hang | log | multiple | anyOf | silence | progress | exit | cause | promised | success | node | disk
    | counted | jobException | external | predicted
    ;

hang : HANG pattern source timer ;
log : pattern source ( recurring | timer )? ;
multiple : MULTIPLE patterns source within? ;
anyOf : ANY patterns source recurring? ;
silence : SILENCE timer STOPPED? ;
progress : PROGRESS MATCH? STRING source timer ;
exit : EXIT ( ANY ( EXCEPT codes )? | codes | SIGNAL signal ( ',' signal )* ) ;
cause : CAUSE causeClass ( ',' causeClass )* ( CONFIDENCE confidence )? ;
promised : OUTPUT_FILES STRING ( MISSING | EMPTY | OLDER THAN STRING | NOT pattern ) ;
success : SUCCESS IF OUTPUT_FILES STRING ( NOT EMPTY | NEWER THAN STRING | pattern )? ;
node : NODE ( DOWN | DRAINED ) ;
disk : ( DISK | INODES | QUOTA ) STRING ABOVE percent '%' ;
counted : EXCEPTION exceptionName count TIMES within? ;
jobException : JOB EXCEPTION STRING severity? ;
external : EXTERNAL ;
predicted : PREDICTED ( NODE STRING )? within? ( CONFIDENCE confidence )? ;

pattern : ( LOG | MATCH ) STRING ;

patterns : '[' NEWLINE* listed NEWLINE* ( ',' NEWLINE* listed NEWLINE* )* ']' ;

listed : ( LOG | MATCH )? STRING ;

source : STDOUT | STDERR | OUTPUT | FILE STRING ;

recurring : RECURRING count within? ;

within : WITHIN seconds ;

timer : TIMEOUT seconds ( WARMUP seconds )? ;

codes : CODE code ( ',' code )* ;

code : NUMBER ( '-' NUMBER )? ;

causeClass : word | PAIR | STRING ;

severity : SEVERITY count ;

signal : IDENTIFIER | NUMBER ;

// Negative values are understood, so that the check can say what is wrong with them.
count : '-'? NUMBER ;
seconds : '-'? NUMBER ;
percent : '-'? NUMBER ;
confidence : '-'? NUMBER ;

// Words --------------------------------------------------------------------------------------------

INCLUDE : 'INCLUDE' ;
DECLARE : 'DECLARE' ;
ENTITY : 'ENTITY' ;
EXCEPTION_TYPE : 'EXCEPTION_TYPE' ;
RESOURCE : 'RESOURCE' ;
EXCEPTION : 'EXCEPTION' ;
DETECTION : 'DETECTION' ;
RECOVERY : 'RECOVERY' ;
STEP : 'STEP' ;
JOB : 'JOB' ;
NODE : 'NODE' ;
HANDLER : 'HANDLER' ;
COUPLED : 'COUPLED' ;
LOG : 'LOG' ;
MATCH : 'MATCH' ;
MULTIPLE : 'MULTIPLE' ;
ANY : 'ANY' ;
HANG : 'HANG' ;
SILENCE : 'SILENCE' ;
PROGRESS : 'PROGRESS' ;
EXIT : 'EXIT' ;
EXCEPT : 'EXCEPT' ;
CODE : 'CODE' ;
SIGNAL : 'SIGNAL' ;
OUTPUT_FILES : 'OUTPUT' ;
MISSING : 'MISSING' ;
EMPTY : 'EMPTY' ;
OLDER : 'OLDER' ;
NEWER : 'NEWER' ;
THAN : 'THAN' ;
NOT : 'NOT' ;
SUCCESS : 'SUCCESS' ;
IF : 'IF' ;
DOWN : 'DOWN' ;
DRAINED : 'DRAINED' ;
STOPPED : 'STOPPED' ;
DISK : 'DISK' ;
INODES : 'INODES' ;
QUOTA : 'QUOTA' ;
ABOVE : 'ABOVE' ;
RECURRING : 'RECURRING' ;
TIMES : 'TIMES' ;
WITHIN : 'WITHIN' ;
TIMEOUT : 'TIMEOUT' ;
WARMUP : 'WARMUP' ;
LIMIT : 'LIMIT' ;
WITHOUT : 'WITHOUT' ;
BACKOFF : 'BACKOFF' ;
ELSE : 'ELSE' ;
FAIL : 'FAIL' ;
PAUSE : 'PAUSE' ;
ESCALATE : 'ESCALATE' ;
RAISE : 'RAISE' ;
SEVERITY : 'SEVERITY' ;
CAUSE : 'CAUSE' ;
EXTERNAL : 'EXTERNAL' ;
PREDICTED : 'PREDICTED' ;
CONFIDENCE : 'CONFIDENCE' ;
BEFORE : 'BEFORE' ;
FAILURE : 'FAILURE' ;
STDOUT : 'stdout' ;
STDERR : 'stderr' ;
OUTPUT : 'output' ;
FILE : 'file' ;

IDENTIFIER : [A-Za-z_] [A-Za-z0-9_-]* ;
PAIR : [A-Za-z_] [A-Za-z0-9_-]* '/' [A-Za-z_] [A-Za-z0-9_-]* ;
NUMBER : [0-9]+ ( '.' [0-9]+ )? ;
STRING : TEXT ;
JSON_OBJECT : '{' ( JSON_OBJECT | TEXT | ~["{}] )* '}' ;

COMMA : ',' ;
OPEN : '[' ;
CLOSE : ']' ;
DOT : '.' ;
DASH : '-' ;
STAR : '*' ;
QUESTION : '?' ;
PERCENT : '%' ;

NEWLINE : '\r'? '\n' | '\r' ;
CONTINUATION : '\\' [ \t]* ( '\r'? '\n' | '\r' ) -> skip ;
BLANK : [ \t\f]+ -> skip ;
COMMENT : '#' ~[\r\n]* -> skip ;
INVALID : . ;

fragment TEXT : '"' ( ~["\\\r\n] | '\\' ~[\r\n] )* '"' ;
